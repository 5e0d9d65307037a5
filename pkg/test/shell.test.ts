/** W2: the official tool's lines, as its documents and doc1 have them, on the real engine. */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import type { Answer, TableAnswer } from "../src/shell/index.js";
import { skip } from "./support/package.js";
import { testShell, type TestShell } from "./support/shell.js";

const opened: TestShell[] = [];
after(() => Promise.all(opened.map(({ db }) => db.close())));

/** The answer as a table. */
function tableOf(answer: Answer): TableAnswer {
  if (answer.kind !== "table") throw new Error(`it is ${answer.kind}`);
  return answer;
}

/** The values of one of the rows' places. */
const values = (answer: Answer, at: number): unknown[] => tableOf(answer).rows.map((row) => row.at(at)?.value);

const CREATE = `create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`;

async function fresh(...lines: string[]): Promise<TestShell> {
  const made = await testShell();
  opened.push(made);
  await made.run("list", ...lines);
  return made;
}

const filled = (): Promise<TestShell> =>
  fresh(
    CREATE,
    "use -t mytable",
    `put --pk '["86", 6771]' --attr '[{"c":"name", "v":"redchen1"}, {"c":"country", "v":"china"}]'`,
    `put --pk '["86", 6772]' --attr '[{"c":"name", "v":"redchen2"}, {"c":"country", "v":"china"}]'`,
    `put --pk '["87", 1]' --attr '[{"c":"age", "v":32}]'`,
  );

test("W2: alter -t mytable --ttl 86400 --version 1 changes the table as doc1 shows", { skip }, async () => {
  const { db, text } = await fresh(`${CREATE} --ttl 864000 --version 3`);
  const before = await db.describeTable("mytable");
  assert.deepEqual([before.timeToLive, before.maxVersions], [864000, 3]);
  assert.match(await text("alter -t mytable --ttl 86400 --version 1"), /^Table mytable is changed: data lives 86400 seconds, each column keeps 1 version,/);
  const after = await db.describeTable("mytable");
  assert.deepEqual([after.timeToLive, after.maxVersions, after.maxVersionOffset], [86400, 1, 86400]);
});

test("W2: each line of the tool's documents does what they say", { skip }, async (t) => {
  const key = [
    { name: "uid", type: "STRING" },
    { name: "pid", type: "INTEGER" },
  ];
  const described = async ({ db }: TestShell) => {
    const { primaryKey, timeToLive, maxVersions, reservedThroughput } = await db.describeTable("mytable");
    return [
      primaryKey.map(({ name, type, autoIncrement }) => ({ name, type, ...(autoIncrement ? { autoIncrement } : {}) })),
      timeToLive,
      maxVersions,
      reservedThroughput.read,
    ];
  };
  const lines: readonly (readonly [string, (made: TestShell) => Promise<unknown>, unknown])[] = [
    [CREATE, described, [key, -1, 1, 0]],
    [`create -t mytable -p '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`, described, [key, -1, 1, 0]],
    [`create -t mytable -k '[{"C":"uid","t":"string"}, {"c":"pid","t":"integer"}]' --ttl 864000 --version 1`, described, [key, 864000, 1, 0]],
    [
      `create -t mytable --pk '[{"c":"uid", "t":"string"}, {"c":"pid", "t":"integer", "opt":"auto"}]'`,
      described,
      [[key[0], { ...key[1], autoIncrement: true }], -1, 1, 0],
    ],
    [`create -m widecolumn --table mytable --pk [{"c":"uid","t":"string"},{"c":"pid","t":"integer"}] --read_cu 5 --write_cu 0`, described, [key, -1, 1, 5]],
  ];
  for (const [line, look, expected] of lines) {
    await t.test(line, async () => {
      const made = await fresh(line);
      assert.deepEqual(await look(made), expected);
    });
  }
});

test("W2: use, also with --wc, chooses the table of the lines about rows", { skip }, async () => {
  const { shell, text } = await fresh(CREATE);
  assert.equal(await text("use --wc -t mytable"), "Table mytable is used.");
  assert.equal(shell.table, "mytable");
  assert.match(await text(`get --pk '["86",6771]'`), /There is no such row/);
});

test("W2: desc -t mytable -f json -o file shows the table as the tool does, and create -i makes it again", { skip }, async () => {
  const { run, files, db } = await fresh(`${CREATE} --ttl 864000 --version 2 --max_version_offset 5 --allow_update false`);
  const answer = await run("desc -t mytable -f json -o /tmp/describe_table_meta.json");
  assert.equal(answer.kind, "json");
  assert.deepEqual(JSON.parse((answer as { json: string }).json), {
    Name: "mytable",
    Meta: {
      Pk: [
        { C: "uid", T: "string", Opt: "none" },
        { C: "pid", T: "integer", Opt: "none" },
      ],
    },
    Option: { TTL: 864000, Version: 2, MaxVersionOffset: 5, AllowUpdate: false },
    CU: { Read: 0, Write: 0 },
  });
  assert.deepEqual(JSON.parse(files.get("/tmp/describe_table_meta.json")!), JSON.parse((answer as { json: string }).json));
  await run("create -t copy -i /tmp/describe_table_meta.json");
  const [a, b] = await Promise.all([db.describeTable("mytable"), db.describeTable("copy")]);
  for (const name of ["primaryKey", "timeToLive", "maxVersions", "maxVersionOffset", "allowUpdate"] as const) assert.deepEqual(b[name], a[name]);
  const { rows } = tableOf(await run("desc -t mytable -f table"));
  assert.deepEqual(rows.map(([name, value]) => [name?.value, value?.value]).slice(0, 4), [
    ["table", "mytable"],
    ["primary key", "uid string, pid integer"],
    ["ttl", 864000],
    ["version", 2],
  ]);
});

test("W2: list names the tables, also with its flags", { skip }, async () => {
  const { text, run } = await fresh(CREATE, `create -t other --pk '[{"c":"id","t":"binary"}]'`);
  assert.equal(await text("list"), "table\n-------\nmytable\nother\n2 rows");
  for (const line of ["list -a", "list -w", "list -aw", "list --all --wc"]) assert.equal(tableOf(await run(line)).rows.length, 2, line);
  assert.match(await text("list -t"), /There are no time series tables here/);
  assert.match(await text("list -d"), /^table +\| primary key +\| *ttl \|/);
  assert.match(await text("list -d"), /mytable \| uid string, pid integer \| +-1 \| +1 \|/);
});

test("W2: drop asks, unless -y is given", { skip }, async () => {
  const asked: string[] = [];
  let answer = false;
  const made = await testShell({
    confirm: async (question) => {
      asked.push(question);
      return answer;
    },
  });
  opened.push(made);
  await made.run(CREATE);
  assert.equal(await made.text("drop -t mytable"), "Table mytable is kept.");
  answer = true;
  assert.equal(await made.text("drop -t mytable"), "Table mytable is deleted.");
  assert.deepEqual(asked, ["Delete the table mytable with all its rows?", "Delete the table mytable with all its rows?"]);
  await made.run(CREATE, "drop -t mytable -y");
  assert.equal(asked.length, 2);
  const silent = await fresh(CREATE);
  assert.match((await silent.wrong("drop -t mytable")).message, /give -y/);
});

test("W2: put with types, versions and a condition stores the row as the document has it", { skip }, async () => {
  const now = 15327798534;
  const made = await testShell({ now });
  opened.push(made);
  const { run, db } = made;
  await run(
    CREATE,
    "use -t mytable",
    `put --pk '["86", 6771]' --attr '[{"c":"name","v":"redchen"},{"c":"country","v":"china","t":"string","ts":15327798534}]' --condition ignore`,
  );
  const { row } = await db.getRow({ tableName: "mytable", primaryKey: { uid: "86", pid: 6771 } });
  assert.deepEqual(row!.columns.country, [{ value: "china", version: now }]);
  assert.equal(row!.get("name"), "redchen");
});

test("W2: put knows every type, and JSON tells integers from doubles", { skip }, async () => {
  const { run, db } = await fresh(CREATE, "use -t mytable");
  await run(
    `put -k '["86", -9223372036854775808]' -a '[{"c":"i","v":9223372036854775807},{"c":"d","v":1.0},{"c":"d2","v":1,"t":"double"},{"c":"e","v":1e3},{"c":"b","v":true},{"c":"x","v":"/w==","t":"binary"},{"c":"s","v":""},{"c":"n","v":1,"IsInt":false}]'`,
  );
  const { row } = await db.getRow({ tableName: "mytable", primaryKey: { uid: "86", pid: -9223372036854775808n } });
  const types = row!.columnNames.map((name) => [name, row!.type(name), row!.get(name)]);
  assert.deepEqual(types, [
    ["b", "BOOLEAN", true],
    ["d", "DOUBLE", 1],
    ["d2", "DOUBLE", 1],
    ["e", "DOUBLE", 1000],
    ["i", "INTEGER", 9223372036854775807n],
    ["n", "DOUBLE", 1],
    ["s", "STRING", ""],
    ["x", "BINARY", Uint8Array.of(255)],
  ]);
});

test("W2: a put of an auto-increment key has null in its place, and tells the key", { skip }, async () => {
  const { text, run } = await fresh(`create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer","opt":"auto"}]'`, "use -t mytable");
  assert.match(await text(`put --pk '["86", null]' --attr '[{"c":"name", "v":"redchen"}, {"c":"country", "v":"china"}]'`), /Its key is \["86",\d+\]\./);
  assert.equal(tableOf(await run("scan")).rows.length, 1);
});

test("W2: --condition exist and not_exist refuse a write", { skip }, async () => {
  const { run, shell } = await filled();
  const refused = (line: string) => assert.rejects(shell.run(line), { code: "OTSConditionCheckFail" }, line);
  await refused(`put --pk '["86", 6771]' --attr '[{"c":"name","v":"x"}]' --condition not_exist`);
  await refused(`put --pk '["99", 1]' --condition exist`);
  await refused(`update --pk '["99", 1]' --attr '[{"c":"name","v":"x"}]' --condition exist`);
  await refused(`delete --pk '["86", 6771]' --if '{"column":"name","comparator":"EQUAL","value":"other"}'`);
  await run(`delete --pk '["86", 6771]' --if '{"column":"name","comparator":"EQUAL","value":"redchen1"}'`);
});

test("W2: put and update take a file of the tool", { skip }, async () => {
  const { run, files, db } = await fresh(`${CREATE} --max_version_offset 1000000000`, "use -t mytable");
  files.set("/temp/inputdata.json", '{"PK":{"Values":["86",6771]},"Attr":{"Values":[{"C":"age","V":32,"TS":1626860801604,"IsInt":true}]}}');
  await run("put -i /temp/inputdata.json");
  const read = async () => (await db.getRow({ tableName: "mytable", primaryKey: { uid: "86", pid: 6771 } })).row!;
  assert.deepEqual((await read()).columns.age, [{ value: 32n, version: 1626860801604 }]);
  files.set("more.json", '{"PK":{"Values":["86",6771]},"Attr":{"Values":[{"C":"name","V":"x"}]}}');
  await run("update -i more.json --condition exist");
  assert.deepEqual((await read()).columnNames, ["age", "name"]);
  // What the file does not say is done beside it.
  const { note } = (await run('update -i more.json --delete_columns age --increment \'[{"c":"visits","v":2}]\'')) as { note?: string };
  assert.equal(note, "visits is 2 now.");
  assert.deepEqual((await read()).columnNames, ["name", "visits"]);
});

test("W2: get shows a row, its columns and its versions", { skip }, async () => {
  const { text, run, files } = await filled();
  assert.equal(
    await text(`get --pk '["86",6771]'`),
    ["uid |  pid | country | name", "----+------+---------+---------", "86  | 6771 | china   | redchen1", "1 row, 1 read unit"].join("\n"),
  );
  assert.match(await text(`get --pk '["86",6771]' -c name`), /^uid \| +pid \| name\n/);
  await run("alter -t mytable --version 3", `update --pk '["86",6771]' --attr '[{"c":"name","v":"second"}]'`);
  const versions = await run(`get --pk '["86",6771]' -c name --max_version 2`);
  assert.deepEqual(tableOf(versions).columns, ["uid", "pid", "column", "version", "value"]);
  assert.deepEqual(values(versions, -1), ["second", "redchen1"]);
  const json = (await run(`get --pk '["87",1]' -f json -o /tmp/row`)) as { json: string };
  assert.deepEqual(JSON.parse(json.json)[0].PK, { Values: ["87", 1] });
  assert.deepEqual(JSON.parse(files.get("/tmp/row")!), JSON.parse(json.json)[0]);
});

test("W2: update keeps other columns, deletes and counts", { skip }, async () => {
  const { run, text, db } = await filled();
  await run(`update --pk '["86", 6771]' --attr '[{"c":"name","v":"new"}]' --delete_columns country --condition exist`);
  assert.match(await text(`update --pk '["86", 6771]' --increment '[{"c":"hits","v":5}]'`), /hits is 5 now/);
  const { row } = await db.getRow({ tableName: "mytable", primaryKey: { uid: "86", pid: 6771 } });
  assert.deepEqual(row!.columnNames, ["hits", "name"]);
  const version = row!.version("name")!;
  await run(`update --pk '["86", 6771]' --delete_versions '[{"c":"name","ts":${version}}]'`);
  assert.deepEqual((await db.getRow({ tableName: "mytable", primaryKey: { uid: "86", pid: 6771 } })).row!.columnNames, ["hits"]);
});

test("W2: delete, also as del, deletes a row", { skip }, async () => {
  const { run, text, db } = await filled();
  assert.match(await text(`delete --pk '["86", 6771]'`), /^The row is deleted\./);
  await run(`del --pk '["86", 6772]'`);
  assert.equal((await db.count({ tableName: "mytable" })).count, 1);
});

test("W2: scan --limit 10, --begin and --end read a range", { skip }, async () => {
  const { run } = await filled();
  const keys = async (line: string) => tableOf(await run(line)).rows.map(([uid, pid]) => `${uid?.value}/${pid?.value}`);
  assert.deepEqual(await keys("scan --limit 10"), ["86/6771", "86/6772", "87/1"]);
  assert.deepEqual(await keys("scan -l 2"), ["86/6771", "86/6772"]);
  assert.deepEqual(await keys(`scan --begin '["86"]' --end '["86"]'`), ["86/6771", "86/6772"]);
  assert.deepEqual(await keys(`scan -b '["86",6772]'`), ["86/6772", "87/1"]);
  assert.deepEqual(await keys(`scan -e '["86",6772]'`), ["86/6771"]);
  assert.deepEqual(await keys(`scan -e '["87",{"inf":"min"}]'`), ["86/6771", "86/6772"]);
  assert.deepEqual(await keys("scan --backward"), ["87/1", "86/6772", "86/6771"]);
  assert.deepEqual(await keys(`scan --backward -b '["86",6772]'`), ["86/6772", "86/6771"]);
  assert.deepEqual(await keys(`scan --filter '{"column":"age","comparator":"GREATER_THAN","value":30,"passIfMissing":false}'`), ["87/1"]);
  assert.match((await run("scan -l 1")).note!, /There is more: --begin '\["86",6772\]'/);
});

test("W2: export -l 10 -o path -c a,b writes the tool's lines, and import takes them, with their versions", { skip }, async () => {
  const { run, text, files, db } = await filled();
  assert.match(await text("export -l 10 -o /tmp/mydata"), /^3 rows \(\d+ bytes\) are written to \/tmp\/mydata\./);
  const lines = files.get("/tmp/mydata")!.trimEnd().split("\n");
  assert.deepEqual(Object.keys(JSON.parse(lines[0])), ["PK", "Attr"]);
  await run("export -o part -c name -l 1");
  assert.match(files.get("part")!, /^\{"PK":\{"Values":\["86",6771\]\},"Attr":\{"Values":\[\{"C":"name","V":"redchen1","TS":\d+\}\]\}\}\n$/);
  await run(`create -t copy --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`, "use -t copy");
  assert.match(await text("import -i /tmp/mydata"), /^3 rows of \/tmp\/mydata are stored\./);
  const all = async (tableName: string) => {
    const rows: unknown[] = [];
    for await (const row of db.scan({ tableName })) rows.push([row.primaryKey, row.columns]);
    return rows;
  };
  assert.deepEqual(await all("copy"), await all("mytable"));
  assert.match(await text("import -i /tmp/mydata -l 1"), /^1 row of \/tmp\/mydata is stored; 1 of them replaced/);
});

test("W2: import --ignore_failed leaves wrong lines out, --ignore_ts gives new versions", { skip }, async () => {
  const { run, text, files, wrong, db } = await filled();
  const old = (pid: number) => `{"PK":{"Values":["a",${pid}]},"Attr":{"Values":[{"C":"x","V":1,"TS":1000}]}}`;
  files.set("bad", `{"PK":{"Values":["a",1]}}\n{"PK":{"Values":["a"]}}\n{"PK":{"Values":["a",2]},"Attr":{"Values":[]}}\n`);
  assert.match((await wrong("import -i bad")).message, /^bad, line 2: There is 1 value: the key has 2: uid string, pid integer$/);
  assert.match(
    await text("import -i bad --ignore_failed"),
    /^2 rows of bad are stored; 1 of them replaced another one; 1 failed\.\nThe first failure: bad, line 2:/,
  );
  files.set("old", `${old(7)}\n${old(8)}\n`);
  assert.match((await wrong("import -i old")).message, /--ignore_ts gives new ones/);
  await run("import -i old --ignore_ts");
  assert.equal((await db.getRow({ tableName: "mytable", primaryKey: { uid: "a", pid: 8 } })).row!.get("x"), 1n);
});

test("W2: import and export know CSV, NDJSON and JSON by the name of the file", { skip }, async () => {
  const { run, files, db } = await filled();
  for (const [name, start] of [
    ["rows.csv", "uid,pid,age,country,name"],
    ["rows.ndjson", '{"primaryKey":'],
    ["rows.json", "["],
  ]) {
    await run("use -t mytable", `export -o ${name}`);
    assert.ok(files.get(name)!.startsWith(start), files.get(name));
    const copy = name.replace(".", "_");
    await run(`create -t ${copy} --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"}]'`, `use -t ${copy}`, `import -i ${name}`);
    const { row } = await db.getRow({ tableName: copy, primaryKey: { uid: "87", pid: 1 } });
    assert.equal(row!.type("age"), "INTEGER", name);
  }
});

test("W2: help shows the commands, and the options of one", { skip }, async () => {
  const { text } = await fresh();
  const all = await text("help");
  for (const name of ["create", "use", "desc", "list", "alter", "drop", "put", "get", "update", "delete", "scan", "import", "export", "help"])
    assert.match(all, new RegExp(`^  ${name} `, "m"));
  assert.equal(await text("help put"), await text("put help"));
  assert.match(await text("help delete"), /Also called del/);
  assert.match(await text("alter --help"), /--ttl number +Seconds that data lives/);
});

test("W2: clear, quit and exit are for the host, and a comment is nothing", { skip }, async () => {
  const { run } = await fresh();
  assert.deepEqual(await Promise.all(["clear", "quit", "exit", "", "  # a comment"].map(async (line) => (await run(line)).kind)), [
    "clear",
    "quit",
    "quit",
    "none",
    "none",
  ]);
});
