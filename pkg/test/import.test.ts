/** Imports: every format cut anywhere, types, keys, progress, cancelling, and rows that cannot be read. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { TabStoreError } from "../src/types/errors.js";
import { CsvSplitter } from "../src/import/csv.js";
import { importRows } from "../src/import/index.js";
import { inspectImport } from "../src/import/inspect.js";
import { ArraySplitter, LineSplitter } from "../src/import/json.js";
import { legalName } from "../src/import/names.js";
import type { ImportOptions, ImportProgress, ImportSource } from "../src/types/writer.js";
import type { KeyColumn } from "../src/types/tables.js";
import { openFake as open, stored } from "./support/fake.js";

const KEY: KeyColumn[] = [{ name: "id", type: "INTEGER" }];

/** Bytes in chunks of a size, as a stream. */
function stream(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
}

async function run(source: ImportSource, options: ImportOptions = {}, key = KEY): Promise<unknown[]> {
  const { db, engine } = open(key);
  await importRows(db, "t", source, options);
  return stored(engine);
}

const CSV = 'id,name,note\r\n1,"Zoë ""Z"" O\'Hara","line one\nline two, and more"\r\n2,日本語,😀\r\n3,,"" \r\n'.replace('"" \r', '""\r');

test("CSV: quotes, line breaks in fields and multi-byte characters survive any cut of the bytes", async () => {
  const expected = [
    { id: { INTEGER: 1n }, name: { STRING: 'Zoë "Z" O\'Hara' }, note: { STRING: "line one\nline two, and more" } },
    { id: { INTEGER: 2n }, name: { STRING: "日本語" }, note: { STRING: "😀" } },
    { id: { INTEGER: 3n } },
  ];
  for (let size = 1; size < 20; size++) assert.deepEqual(await run(stream(CSV, size), { format: "csv" }), expected, `chunks of ${size}`);
  assert.deepEqual(await run(stream(CSV.replaceAll("\r\n", "\r"), 3), { format: "csv" }), expected);
  assert.deepEqual(await run(stream(CSV.trimEnd(), 5), { format: "csv" }), expected);
  assert.deepEqual(await run(stream(`\ufeff${CSV}`, 1), { format: "csv" }), expected);
});

test("CSV: the separator is found out, or told", async () => {
  const expected = [{ id: { INTEGER: 1n }, a: { STRING: "x,y" } }];
  assert.deepEqual(await run(stream("id;a\n1;x,y\n", 4), { format: "csv" }), expected);
  assert.deepEqual(await run(new File(["id\ta\n1\tx,y\n"], "data.tsv")), expected);
  assert.deepEqual(await run(stream("id,|a\n1|x,y\n", 4), { format: "csv", delimiter: "|", columns: { "id,": { name: "id" } } }), expected);
});

test("CSV: rows of the wrong length, columns named twice and open quotes are refused by name", async () => {
  await assert.rejects(run(stream("id,a\n1,2\n3\n", 4), { format: "csv" }), /Row 2 of the CSV to import has 1 fields, its first line 2/);
  await assert.rejects(run(stream("id,a,a\n1,2,3\n", 4), { format: "csv" }), /names the column 'a' twice/);
  await assert.rejects(run(stream('id,a\n1,"x\n', 4), { format: "csv" }), /Row \d of the CSV to import: .*[Qq]uote/);
});

test("CSV: spaces may stand behind a closing quote, nothing else; quotes inside a field are its text", async () => {
  const expected = [{ id: { INTEGER: 1n }, a: { STRING: 'x,"y' } }, { id: { INTEGER: 2n }, a: { STRING: '5" long' } }, { id: { INTEGER: 3n } }];
  const text = 'id||a\r\n"1" ||"x,""y"\r\n2||5" long\r\n3||""\r\n';
  for (let size = 1; size < 9; size++) assert.deepEqual(await run(stream(text, size), { format: "csv", delimiter: "||" }), expected);
  await assert.rejects(run(stream('id,a\n1,"x"y\n', 4), { format: "csv" }), /Row 1 of the CSV to import: text stands behind the closing quote of a field/);
});

test("CSV: empty lines are passed over; a file of one line has no rows", async () => {
  assert.equal((await run(stream("id,a\n1,x\n\n2,y\n\n", 3), { format: "csv" })).length, 2);
  assert.deepEqual(await run(stream("id,a\n", 3), { format: "csv" }), []);
  assert.deepEqual(await run(stream("", 3), { format: "csv" }), []);
  assert.deepEqual(new CsvSplitter().columns, []);
});

const JSON_ROWS = [
  { id: 1, text: 'brackets ]}[{ "quoted\\" , 😀', nested: null, flag: true },
  { id: 2, number: 1.5, text: "" },
  { id: 3, text: "\u2028é" },
];

test("JSON: an array of objects survives any cut of the bytes", async () => {
  const expected = [
    { id: { INTEGER: 1n }, text: { STRING: 'brackets ]}[{ "quoted\\" , 😀' }, flag: { BOOLEAN: true } },
    { id: { INTEGER: 2n }, number: { DOUBLE: 1.5 }, text: { STRING: "" } },
    { id: { INTEGER: 3n }, text: { STRING: "\u2028é" } },
  ];
  for (const text of [JSON.stringify(JSON_ROWS), ` \n${JSON.stringify(JSON_ROWS, null, 2)}\n `]) {
    for (let size = 1; size < 16; size++) assert.deepEqual(await run(stream(text, size), { format: "json" }), expected, `chunks of ${size}`);
  }
  const lines = JSON_ROWS.map((row) => JSON.stringify(row)).join("\r\n");
  for (let size = 1; size < 16; size++) assert.deepEqual(await run(stream(`${lines}\n\n`, size), { format: "ndjson" }), expected);
  assert.deepEqual(await run(stream(lines, 7), { format: "ndjson" }), expected);
  assert.deepEqual(await run(stream("[]", 1), { format: "json" }), []);
});

test("JSON: nested arrays and objects do not confuse the splitter", () => {
  const splitter = new ArraySplitter();
  const out: unknown[] = [];
  const values = [[1, [2, { a: "]" }]], { b: { c: [] } }, "x", 3, [], {}];
  for (const character of JSON.stringify(values)) out.push(...splitter.push(character));
  splitter.end();
  assert.deepEqual(out, values);
});

test("JSON: what is no array, ends early, goes on after its end or is broken is refused", async () => {
  await assert.rejects(run(stream('{"id":1}', 3), { format: "json" }), /must be an array of objects/);
  await assert.rejects(run(stream('[{"id":1},', 3), { format: "json" }), /ends too early/);
  await assert.rejects(run(stream("", 3), { format: "json" }), /ends too early/);
  await assert.rejects(run(stream("[] x", 9), { format: "json" }), /after the end/);
  await assert.rejects(run(stream('[{"id":1},{id:2}]', 99), { format: "json" }), /Element 2 of the JSON to import is wrong/);
  await assert.rejects(run(stream('{"id":1}\n{id:2}\n', 99), { format: "ndjson" }), /Line 2 .* is not JSON/);
  await assert.rejects(run(stream('[{"id":1},5]', 99), { format: "json" }), /Row 2: It is a number; it must be an object/);
  assert.deepEqual(new LineSplitter().end(), []);
});

test("columns are renamed, typed and left out", async () => {
  const source = stream("Row,Price $,zip,ok,junk,raw\n1,3,02139,true,x,AQI=\n2,4.5,10001,0,,\n", 7);
  const rows = await run(source, {
    format: "csv",
    columns: {
      Row: { name: "id" },
      "Price $": { name: "price", type: "DOUBLE" },
      zip: { type: "STRING" },
      ok: { type: "BOOLEAN" },
      junk: false,
      raw: { type: "BINARY" },
    },
  });
  assert.deepEqual(rows, [
    { id: { INTEGER: 1n }, price: { DOUBLE: 3 }, zip: { STRING: "02139" }, ok: { BOOLEAN: true }, raw: { BINARY: Uint8Array.of(1, 2) } },
    { id: { INTEGER: 2n }, price: { DOUBLE: 4.5 }, zip: { STRING: "10001" }, ok: { BOOLEAN: false } },
  ]);
});

test("D2: texts become integers of 64 bits exactly", async () => {
  const rows = await run(stream("id,n\n9007199254740993,+9223372036854775807\n-5,-0\n", 7), { format: "csv", columns: { n: { type: "INTEGER" } } });
  assert.deepEqual(rows, [
    { id: { INTEGER: 9007199254740993n }, n: { INTEGER: 9223372036854775807n } },
    { id: { INTEGER: -5n }, n: { INTEGER: 0n } },
  ]);
});

test("a value that does not fit its type is refused with row, column and value", async () => {
  const wrong = (text: string, type: string): Promise<unknown> =>
    run(stream(`id,n\n1,${text}\n`, 9), { format: "csv", columns: { n: { type: type as "DOUBLE" } } });
  await assert.rejects(wrong("1.5", "INTEGER"), /^WriterError: Row 1: The column 'n' cannot be read as INTEGER: its value is '1.5'\. Rows stored: 0\.$/);
  await assert.rejects(wrong("abc", "DOUBLE"), /'n' cannot be read as DOUBLE: its value is 'abc'/);
  await assert.rejects(wrong("NaN", "DOUBLE"), /'n' cannot be read as DOUBLE/);
  await assert.rejects(wrong("maybe", "BOOLEAN"), /'n' cannot be read as BOOLEAN/);
  await assert.rejects(wrong("?", "BINARY"), /'n' cannot be read as BINARY/);
  await assert.rejects(wrong("99999999999999999999", "INTEGER"), /'n' does not fit 64 bits/);
  await assert.rejects(run([{ id: 1, n: { a: 1 } }]), /'n' holds an object: give it the type STRING/);
  assert.deepEqual(await run([{ id: 1, n: { a: 1 }, big: 1e21 }], { columns: { n: { type: "STRING" } } }), [
    { id: { INTEGER: 1n }, n: { STRING: '{"a":1}' }, big: { DOUBLE: 1e21 } },
  ]);
});

test("T3: keys must be there; an empty text is a legal key; a row number can stand in", async () => {
  await assert.rejects(run([{ a: 1 }]), /Row 1: No value is given for primary key name: id/);
  const text: KeyColumn[] = [
    { name: "name", type: "STRING" },
    { name: "row", type: "INTEGER" },
  ];
  assert.deepEqual(await run(stream("name,a\n,1\nx,2\n", 9), { format: "csv", rowNumber: "row" }, text), [
    { name: { STRING: "" }, row: { INTEGER: 1n }, a: { STRING: "1" } },
    { name: { STRING: "x" }, row: { INTEGER: 2n }, a: { STRING: "2" } },
  ]);
  await assert.rejects(run([], { rowNumber: "name" }, text), /'name', whose type is STRING/);
  await assert.rejects(run([], { rowNumber: "other" }, text), /'other', which is no column of the primary key/);
  await assert.rejects(run([{ row: 1, name: "x" }], { rowNumber: "row" }, text), /would both become 'row'/);
});

test("rows come from arrays, generators and async generators, as objects or as new rows", async () => {
  async function* slowly(): AsyncGenerator<{ id: number }> {
    for (let id = 0; id < 500; id++) yield { id };
  }
  assert.equal((await run(slowly())).length, 500);
  assert.equal((await run(Array.from({ length: 1000 }, (_, id) => ({ id, a: 1.5 })))).length, 1000);
  assert.deepEqual(await run([{ primaryKey: { id: 1 }, attributes: { a: [{ value: 1, version: 5 }] } }]), [{ id: { INTEGER: 1n }, a: { INTEGER: 1n } }]);
});

test("rows whose columns are not their own members are refused, not stored without them", async () => {
  class Named {
    id = 1;
    get name(): string {
      return "x";
    }
  }
  class Own {
    id = 1;
    name = "x";
  }
  await assert.rejects(
    run([{ id: 0 }, new Named() as never]),
    /Row 2: The argument 'row' is a Named, whose 'name' is not a member of its own; it must be a plain object/,
  );
  await assert.rejects(run([new Map([["id", 1]]) as never]), /Row 1: The argument 'row' is a Map; it must be a plain object/);
  await assert.rejects(run([Promise.resolve({ id: 1 }) as never]), /Row 1: The argument 'row' is a Promise; it must be a plain object/);
  assert.deepEqual(await run([new Own() as never]), [{ id: { INTEGER: 1n }, name: { STRING: "x" } }]);
});

test("wrong arguments are refused by name", async () => {
  await assert.rejects(run(5 as never), /'source' is a number/);
  await assert.rejects(run(stream("", 1)), /format of the source is not known/);
  await assert.rejects(run(stream("", 1), { format: "xml" as never }), /'format' is 'xml'/);
  await assert.rejects(run([], { onError: "retry" as never }), /'onError' is 'retry'/);
  await assert.rejects(run([], { column: {} } as never), /Unknown argument 'column' in 'importRows'/);
  await assert.rejects(run([], { columns: { a: { type: "TEXT" as never } } }), /'columns.a.type' is 'TEXT'/);
  await assert.rejects(run([], { columns: new Map([["a", false]]) as never }), /'columns' is a Map/);
  await assert.rejects(run([], { columns: { a: { typ: "DOUBLE" } as never } }), /Unknown argument 'typ' in 'columns\.a'/);
  await assert.rejects(run([], { columns: { a: { name: 5 as never } } }), /'columns\.a\.name' is a number/);
  await assert.rejects(run([], { columns: { a: true as never } }), /'columns\.a' is a boolean; it must be an object/);
  await assert.rejects(run([{ id: 1, a: 1, b: 2 }], { columns: { a: { name: "c" }, b: { name: "c" } } }), /'b' and 'a' of the source would both become 'c'/);
  await assert.rejects(run(new Response("[]", { status: 404, headers: { "content-type": "application/json" } })), /status 404/);
});

test("the format comes from the name or the media type", async () => {
  assert.equal((await run(new File(["id\n1\n"], "a.CSV"))).length, 1);
  assert.equal((await run(new Blob(['[{"id":1}]'], { type: "application/json" }))).length, 1);
  assert.equal((await run(new Response('{"id":1}\n{"id":2}', { headers: { "content-type": "application/x-ndjson" } }))).length, 2);
});

test("bytes that are not UTF-8 are refused, not replaced", async () => {
  const latin1 = new Blob([new TextEncoder().encode("id,a\n1,"), Uint8Array.of(0xe9), new TextEncoder().encode("\n")]);
  await assert.rejects(run(latin1, { format: "csv" }), /not UTF-8/);
  await assert.rejects(run(new Blob([new TextEncoder().encode("id,a\n1,x"), Uint8Array.of(0xc3)]), { format: "csv" }), /not UTF-8/);
});

test("progress tells rows stored and bytes read, and ends with all of them", async () => {
  const { db } = open();
  const file = new File([Array.from({ length: 3000 }, (_, id) => `{"id":${id},"a":"${"x".repeat(50)}"}`).join("\n")], "a.ndjson");
  const seen: ImportProgress[] = [];
  const result = await importRows(db, "t", file, { onProgress: (progress) => seen.push(progress) });
  assert.deepEqual(seen.at(-1), { rows: 3000, bytes: file.size, totalBytes: file.size });
  assert.deepEqual([result.rows, result.bytes, result.skipped], [3000, file.size, 0]);
  for (let i = 1; i < seen.length; i++) assert.ok(seen[i].rows >= seen[i - 1].rows && seen[i].bytes >= seen[i - 1].bytes);
});

test("a cancelled import stops reading, keeps what was stored, and says how much", async () => {
  const { db, engine } = open();
  const control = new AbortController();
  let rows = 0;
  let cancelled = false;
  let id = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(`{"id":${id++}}\n`.repeat(1))),
    cancel: () => void (cancelled = true),
  });
  await assert.rejects(
    importRows(db, "t", endless, {
      format: "ndjson",
      signal: control.signal,
      onProgress: (progress) => {
        ({ rows } = progress);
        if (rows > 300) control.abort(new Error("enough"));
      },
    }),
    /enough/,
  );
  assert.ok(cancelled);
  assert.equal(engine.store.size, rows);
});

test("a source that delivers nothing does not keep a cancelled import, nor an inspection, waiting", async () => {
  const { db, engine } = open();
  const stalled = (control: AbortController): ReadableStream<Uint8Array> => {
    let chunks = 0;
    return new ReadableStream({
      pull: (controller) => {
        if (chunks++ === 0) controller.enqueue(new TextEncoder().encode('{"id":1}\n{"id":'));
        else setTimeout(() => control.abort(new Error("enough")), 5);
      },
      cancel: (reason: Error) => void cancelled.push(reason.message),
    });
  };
  const cancelled: string[] = [];
  const importing = new AbortController();
  await assert.rejects(importRows(db, "t", stalled(importing), { format: "ndjson", signal: importing.signal }), /enough/);
  assert.equal(engine.store.size, 1);
  const inspecting = new AbortController();
  await assert.rejects(inspectImport(stalled(inspecting), { format: "ndjson", signal: inspecting.signal }), /enough/);
  assert.deepEqual(cancelled, ["enough", "enough"]);
  await assert.rejects(importRows(db, "t", [], { signal: 5 } as never), /'signal' is a number/);
});

test('onError: "stop" names the first row that the engine refused; "skip" goes on and lists them', async () => {
  const refuse = ({ key }: { key: Record<string, object> }): string | undefined =>
    "INTEGER" in key.id && Number(key.id.INTEGER) === 40 ? "no forties" : undefined;
  const source = (): ImportSource => stream(Array.from({ length: 50 }, (_, i) => (i === 10 ? '{"id":"ten"}' : `{"id":${i}}`)).join("\n"), 100);
  const first = open();
  first.engine.refuse = refuse;
  await assert.rejects(
    importRows(first.db, "t", source(), { format: "ndjson" }),
    /^WriterError: Row 11: The column 'id' cannot be read as INTEGER: its value is 'ten'\. Rows stored: 10\.$/,
  );
  const second = open();
  second.engine.refuse = refuse;
  const result = await importRows(second.db, "t", source(), { format: "ndjson", onError: "skip" });
  assert.deepEqual([result.rows, result.skipped], [48, 2]);
  assert.deepEqual(
    result.failures.map(({ row, error }) => [row, error instanceof TabStoreError && error.message]),
    [
      [11, "Row 11: The column 'id' cannot be read as INTEGER: its value is 'ten'."],
      [41, "Row 41: no forties"],
    ],
  );
  const third = open();
  third.engine.refuse = refuse;
  await assert.rejects(
    importRows(
      third.db,
      "t",
      Array.from({ length: 50 }, (_, id) => ({ id })),
      {},
    ),
    /^WriterError: Row 41: no forties\. Rows stored: 49\.$/,
  );
});

test("inspectImport says that values are unique only if they are as they will be stored", async () => {
  const unique = async (json: string): Promise<readonly (readonly [type: string, unique: boolean])[]> =>
    (await inspectImport(new Blob([json], { type: "application/json" }))).columns.map((column) => [column.type, column.unique] as const);
  assert.deepEqual(await unique('[{"id":1},{"id":"1"}]'), [["STRING", false]]);
  assert.deepEqual(await unique('[{"id":1.5},{"id":"1.5"}]'), [["STRING", false]]);
  assert.deepEqual(await unique('[{"id":true},{"id":"true"}]'), [["STRING", false]]);
  assert.deepEqual(await unique('[{"id":1},{"id":"01"}]'), [["STRING", true]]);
  assert.deepEqual(await unique('[{"id":1},{"id":2},{"id":9007199254740993}]'), [["INTEGER", true]]);
});

test("inspectImport proposes legal names and the narrowest types", async () => {
  const csv = await inspectImport(new File(["id,US Gross,zip,rate,ok,US-Gross,1st\n1,5,02139,1.5,true,,a\n2,-6,10001,2,false,x,\n"], "a.csv"));
  assert.deepEqual(csv.columns, [
    { source: "id", name: "id", type: "INTEGER", complete: true, unique: true },
    { source: "US Gross", name: "US_Gross", type: "INTEGER", complete: true, unique: true },
    { source: "zip", name: "zip", type: "STRING", complete: true, unique: true },
    { source: "rate", name: "rate", type: "DOUBLE", complete: true, unique: true },
    { source: "ok", name: "ok", type: "BOOLEAN", complete: true, unique: true },
    { source: "US-Gross", name: "US_Gross_2", type: "STRING", complete: false, unique: false },
    { source: "1st", name: "_1st", type: "STRING", complete: false, unique: false },
  ]);
  const json = await inspectImport(new Blob(['[{"a":1,"b":null,"c":[1]},{"a":1.5,"b":"x"},{"a":9}]'], { type: "application/json" }), { rows: 2 });
  assert.deepEqual(
    json.columns.map(({ source, type, complete }) => [source, type, complete]),
    [
      ["a", "DOUBLE", true],
      ["b", "STRING", false],
      ["c", "STRING", false],
    ],
  );
  assert.equal(json.rows.length, 2);
  assert.equal(legalName(""), "_");
  assert.equal(legalName("日本"), "_");
});

test("columns of `set` are in each row, of the key or not, in place of the source's, in each format, for rows and with map", async () => {
  const key: KeyColumn[] = [
    { name: "land", type: "STRING" },
    { name: "id", type: "INTEGER" },
  ];
  const set = { land: "NO", kind: "city", big: 9007199254740993n };
  const expected = [1n, 2n].map((id) => ({
    land: { STRING: "NO" },
    id: { INTEGER: id },
    name: { STRING: `n${id}` },
    kind: { STRING: "city" },
    big: { INTEGER: 9007199254740993n },
  }));
  const sorted = (rows: unknown[]): unknown[] => rows.map((row) => Object.fromEntries(Object.entries(row as object).sort()));
  const check = async (source: ImportSource, options: ImportOptions): Promise<void> =>
    assert.deepEqual(sorted(await run(source, { set, ...options }, key)), sorted(expected));
  await check(new Blob(["id,name,kind\n1,n1,x\n2,n2,\n"]), { format: "csv", columns: { id: { type: "INTEGER" }, kind: { type: "BOOLEAN" } } });
  await check(new Blob(['[{"id":1,"name":"n1","land":7},{"id":2,"name":"n2"}]']), { format: "json" });
  await check(new Blob(['{"primaryKey":{"id":1},"attributes":{"name":"n1","kind":"old"}}\n{"primaryKey":{"id":2,"land":"SE"},"attributes":{"name":"n2"}}\n']), {
    format: "ndjson",
  });
  await check([{ nr: 1 }, { nr: 2 }], { map: ({ nr }) => ({ id: nr, name: `n${nr as number}` }) });
  // Rows in the writer's shape are looked at as without it.
  await assert.rejects(run([{ primaryKey: { id: 1, land: "x" }, attribute: { x: 1 } }], { set }, key), /attribute/);
  await assert.rejects(run([{ primaryKey: { id: 1, land: "x" }, attributes: new Map([["x", 1]]) }], { set }, key), /Map/);
  await assert.rejects(run([{ id: 1 }], { set: new Map() as never }, key), /'set' is a Map/);
  await assert.rejects(run([{ id: 1 }], { set: { land: "NO", bad: null } as never }, key), /bad/);
});
