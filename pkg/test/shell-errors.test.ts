/** Lines that are wrong: the wrong word is marked, the message says what belongs there, and nothing is done. */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { answerText, errorText, LineHistory, ShellError, visible } from "../src/shell/index.js";
import { widthOf } from "../src/shell/text.js";
import { skip } from "./support/package.js";
import { testShell, type TestShell } from "./support/shell.js";

let made: TestShell | undefined;
after(() => made?.db.close());

async function ready(): Promise<TestShell> {
  if (made === undefined) {
    made = await testShell();
    await made.run(`create -t mytable --pk '[{"c":"uid","t":"string"},{"c":"pid","t":"integer"},{"c":"raw","t":"binary"}]'`, "use -t mytable");
  }
  return made;
}

/** A line, the stretch of it that is wrong, and the message. */
const WRONG: readonly (readonly [string, string, RegExp])[] = [
  ["pt --pk '[]'", "pt", /^There is no command 'pt'; did you mean 'put'\?$/],
  ["frobnicate", "frobnicate", /; 'help' lists them$/],
  [`put --pk '["a",1,""]' --atr '[]'`, "--atr", /^'put' has no option '--atr'; did you mean '--attr'\?$/],
  [`get -x 1`, "-x", /^'get' has no option '-x'/],
  ["use mytable", "mytable", /stands without an option; give it with -t or --table$/],
  ["use -t", "-t", /^--table has no value: table belongs behind it$/],
  ["use", "use", /^'use' needs -t or --table table$/],
  ["use -t mytabel", "mytabel", /^There is no table 'mytabel'; did you mean 'mytable'\?$/],
  ["desc -t nothing", "nothing", /^There is no table 'nothing'; 'list' lists them$/],
  ["desc -f xml", "xml", /^'xml' is none of table, json$/],
  ["list -w -t", "-w", /exclude each other/],
  ["list -a=1", "-a=", /has no option '-a='/],
  ["alter -t mytable", "alter", /changes nothing without an option/],
  ["alter -t mytable --ttl 1d", "1d", /^'1d' is no integer of at least -1$/],
  ["alter -t mytable --version 0", "0", /^'0' is no integer of at least 1$/],
  ["alter -t mytable --ttl 1 --ttl 2", "--ttl", /given twice/],
  ["alter -t mytable --allow_update maybe", "maybe", /neither true nor false/],
  [`create -t t --pk '[{"c":"id","t":"strng"}]'`, '"strng"', /^'strng' is none of STRING, INTEGER, BINARY; did you mean 'STRING'\?$/],
  [`create -t t --pk '[{"c":"id","typ":"string"}]'`, '"typ"', /^There is no member 'typ'/],
  [`create -t t --pk '{"c":"id"}'`, '{"c":"id"}', /is no array/],
  [`create -t t`, "create", /needs -k or --pk/],
  [`create -m timeseries -t t --pk '[]'`, "timeseries", /is none of widecolumn/],
  [`put --pk '["a",1]'`, '["a",1]', /^There are 2 values: the key has 3: uid string, pid integer, raw binary$/],
  [`put --pk '["a",1,"","x"]'`, '"x"', /one value too many/],
  [`put --pk '["a","1",""]'`, '"1"', /is no INTEGER, which pid is: write it without quotes$/],
  [`put --pk '["a",1.5,""]'`, "1.5", /is no INTEGER/],
  [`put --pk '[1,1,""]'`, "1", /is no STRING, which uid is: write it in/],
  [`put --pk '["a",9223372036854775808,""]'`, "9223372036854775808", /does not fit 64 bits/],
  [`put --pk '["a",1,"*"]'`, '"*"', /base64/],
  [`put --pk '["a",null,""]'`, "null", /null is for an auto-increment column, which pid is not/],
  [`put --pk '["a",1,""'`, `'["a",1,""'`, /ends too early: ',' or '\]' is missing/],
  [`put --pk '["a",01,""]'`, "1", /^'1' is wrong in the JSON: ',' or '\]' belongs here$/],
  [`put --pk '["a",tru,""]'`, "tru", /^'tru' is wrong in the JSON/],
  [`put --pk '["a",1,""] x'`, "x", /^'x' is wrong in the JSON: the end belongs here$/],
  [`put --pk '["a",1,""`, `'["a",1,""`, /^The quote ' is not closed$/],
  [`put --pk ["a",1,""`, `["a",1,""`, /^A bracket is not closed$/],
  [`put --pk '["a",1,""]' --attr '[{"c":"x"}]'`, '{"c":"x"}', /The member 'v' is missing/],
  [`put --pk '["a",1,""]' --attr '[{"c":"x","v":"a","t":"intger"}]'`, '"intger"', /did you mean 'INTEGER'/],
  [`put --pk '["a",1,""]' --attr '[{"c":"x","v":"a","t":"integer"}]'`, '"a"', /is no INTEGER/],
  [`put --pk '["a",1,""]' --attr '[{"c":"x","v":null}]'`, "null", /leave the column out/],
  [`put --pk '["a",1,""]' --attr '[{"c":"x","v":1,"ts":"now"}]'`, '"now"', /is no integer/],
  [`put --pk '["a",1,""]' --attr '[{"c":"x","v":{}}]'`, "{}", /is no value/],
  [`put --pk '["a",1,""]' --condition maybe`, "maybe", /is none of ignore, exist, not_exist/],
  [`put -i file --pk '[]'`, "'[]'", /cannot stand beside -i/],
  [`create -t a -i file --ttl 9`, "9", /--ttl cannot stand beside -i/],
  [`create -i file --pk '[]'`, "'[]'", /cannot stand beside -i/],
  [`put -i nothing`, "nothing", /cannot be read: there is no file nothing/],
  [`get --pk '["a",1,""]' --time_range_start 1`, "1", /A range of versions has a start and an end/],
  [`get --pk '["a",1,""]' --time_range_specific 1 --max_version 2`, "2", /has no sense/],
  [`get --pk '["a",1,""]' -c a,,b`, ",", /A name is missing/],
  [`get --pk '["a",1,""]' --filter '{"column":"a","comparator":"EQUALS","value":1}'`, '"EQUALS"', /is none of EQUAL/],
  ["scan --limit 0", "0", /is no integer of at least 1/],
  [`scan --begin '["a",1,"","b"]'`, '"b"', /one value too many/],
  [`scan --begin '[{"inf":"most"}]'`, '"most"', /is none of min, max/],
  ["import", "import", /needs -i or --input file/],
  ["export", "export", /needs -o or --output file/],
  ["help putt", "putt", /did you mean 'put'/],
  ["help put get", "get", /one word too many/],
];

test("W2: a wrong line marks the word, says what belongs there, and shows the right form", { skip }, async (t) => {
  const { wrong } = await ready();
  for (const [line, at, message] of WRONG) {
    await t.test(line, async () => {
      const found = await wrong(line);
      assert.equal(found.at, at);
      assert.match(found.message, message);
      const isKnown = /^(?:pt|frobnicate)/.test(line);
      assert.equal(found.usage === undefined, isKnown, found.usage);
    });
  }
  assert.deepEqual(await (await ready()).db.listTable(), ["mytable"]);
});

test("W2: a line about rows without a table says so", { skip }, async () => {
  const other = await testShell();
  try {
    assert.deepEqual(await other.wrong("scan"), {
      at: "scan",
      message: "No table is chosen: say 'use -t table' first, or give -t",
      usage: (await other.wrong("scan")).usage,
    });
    await assert.rejects(other.shell.run(`get -t t --pk '["a"]'`), (error) => error instanceof ShellError && /There is no table 't'/.test(error.message));
  } finally {
    await other.db.close();
  }
});

test("a table that is gone after `use` is told with the service's code", { skip }, async () => {
  const other = await testShell();
  try {
    await other.run(`create -t t --pk '[{"c":"id","t":"string"}]'`, "use -t t", "drop -t t -y");
    await assert.rejects(other.shell.run("scan"), { code: "OTSObjectNotExist" });
  } finally {
    await other.db.close();
  }
});

test("the error's text has the line, marks below the wrong word, the message and the usage", { skip }, async () => {
  const { shell } = await ready();
  const line = `put --pk '["名前",1,""]' --atr 1`;
  const error = await shell.run(line).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const [first, marks, message, usage] = errorText(line, error).split("\n");
  assert.equal(first, line);
  assert.equal(marks.length, widthOf(line.slice(0, line.indexOf("--atr"))) + 5);
  assert.match(marks, /^ +\^{5}$/);
  assert.match(message, /did you mean '--attr'/);
  assert.match(usage, /^Usage: put \[--pk /);
  const long = `put --pk '["${"x".repeat(500)}"]' --atr 1`;
  const longError = new ShellError("no", { start: long.indexOf("--atr"), end: long.indexOf("--atr") + 5 });
  const [part, below] = errorText(long, longError).split("\n");
  assert.ok(part.length < 130);
  assert.equal(part.slice(below.indexOf("^"), below.lastIndexOf("^") + 1), "--atr");
});

test("tables line up with wide characters, marks and emoji, and no value moves the cursor", () => {
  assert.deepEqual(["abc", "名前", "é", "e\u0301", "👩‍👩‍👧", "한글", "\u200b"].map(widthOf), [3, 4, 1, 1, 2, 4, 0]);
  assert.equal(visible("a\nb\t\u202ec\u001b[2J"), "a\\nb\\t\\u202ec\\u001b[2J");
  const text = answerText({
    kind: "table",
    columns: ["名", "n"],
    rows: [
      [
        { value: "名前", type: "STRING" },
        { value: 1n, type: "INTEGER" },
      ],
      [undefined, { value: 12, type: "DOUBLE" }],
    ],
    ms: 1.25,
  });
  const [head, rule, one, two] = text.split("\n");
  assert.equal(new Set([head, rule, one, two].map((line) => widthOf(line))).size, 1, text);
  assert.match(two, /12\.0$/);
  assert.match(text, /2 rows, 1\.3 ms$|2 rows, 1\.2 ms$/);
});

test("the history walks back and forth, keeps the line that is typed, and is bounded", () => {
  const history = new LineHistory(["a", "b"], 3);
  assert.deepEqual([history.older("typed"), history.older("b"), history.older("a")], ["b", "a", undefined]);
  assert.deepEqual([history.newer(), history.newer(), history.newer()], ["b", "typed", undefined]);
  for (const line of ["b", "c", " ", "d"]) history.add(line);
  assert.deepEqual(history.lines, ["b", "c", "d"]);
  assert.equal(history.older(""), "d");
});
