/** Integers of 64 bits in JSON and NDJSON: exact on every host, or refused by row and column. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { ImportFormat, ImportOptions, ImportSource } from "../src/types/writer.js";
import { importRows, inspectImport } from "../src/import/index.js";
import { openFake, stored } from "./support/fake.js";
import { readJson, spoilt, wildJson } from "./support/json.js";
import { open, skip } from "./support/package.js";

async function run(source: ImportSource, options: ImportOptions): Promise<unknown[]> {
  const { db, engine } = openFake();
  await importRows(db, "t", source, options);
  return stored(engine);
}

/** The rows of a text as an import reads them. */
const rowsOf = async (text: string, format: ImportFormat): Promise<readonly unknown[]> => (await inspectImport(new Blob([text]), { format })).rows;

const EXACT = `[{"id":9007199254740993,"max":9223372036854775807,"min":-9223372036854775808,"safe":9007199254740991,"exponent":1e21,"fraction":12345678901234567.5}]`;

test("D2: JSON and NDJSON: integers of 64 bits are stored exactly on this host too", async () => {
  const expected = [
    {
      id: { INTEGER: 9007199254740993n },
      max: { INTEGER: 9223372036854775807n },
      min: { INTEGER: -9223372036854775808n },
      safe: { INTEGER: 9007199254740991n },
      exponent: { DOUBLE: 1e21 },
      fraction: { DOUBLE: 12345678901234568 },
    },
  ];
  assert.deepEqual(await run(new Blob([EXACT]), { format: "json" }), expected);
  assert.deepEqual(await run(new Blob([EXACT.slice(1, -1)]), { format: "ndjson" }), expected);
});

test("D2: a host whose revivers get no source text makes no difference", async () => {
  const { parse } = JSON;
  try {
    // The result on an older host, whatever this one is.
    JSON.parse = (text: string, reviver?: (key: string, value: unknown) => unknown): unknown =>
      parse(text, reviver && ((key, value: unknown) => reviver(key, value)));
    assert.deepEqual(await rowsOf(EXACT, "json"), readJson(EXACT));
  } finally {
    JSON.parse = parse;
  }
});

test("D2: integers beyond 64 bits are refused by row and column, not rounded", async () => {
  for (const integer of ["9223372036854775808", "-9223372036854775809", "18446744073709551615", "100000000000000000000000000"]) {
    const refusal = new RegExp(`Row 2: The integer ${integer} of column 'n' does not fit 64 bits`);
    await assert.rejects(run(new Blob([`[{"id":1,"n":1},{"id":2,"n":${integer}}]`]), { format: "json" }), refusal);
    await assert.rejects(run(new Blob([`{"id":1,"n":1}\n{"id":2,"n":${integer}}\n`]), { format: "ndjson" }), refusal);
    await assert.rejects(
      run(new Blob([`[{"id":1},{"id":${integer}}]`]), { format: "json" }),
      new RegExp(`Row 2: The integer ${integer} of primary key column 'id' does not fit 64 bits`),
    );
  }
  const typed = (type: "DOUBLE" | "STRING"): Promise<unknown[]> =>
    run(new Blob(['[{"id":1,"n":18446744073709551615}]']), { format: "json", columns: { n: { type } } });
  assert.deepEqual(await typed("DOUBLE"), [{ id: { INTEGER: 1n }, n: { DOUBLE: 18446744073709552000 } }]);
  assert.deepEqual(await typed("STRING"), [{ id: { INTEGER: 1n }, n: { STRING: "18446744073709551615" } }]);
});

test("D2: JSON stored as a text has its integers as they were, beside texts that look like them", async () => {
  const value = '{"a":[9007199254740993,-18446744073709551616],"b":"9007199254740993","\\u0000":"\\u0000\\u00009007199254740993","c":{"d":1.5}}';
  assert.deepEqual(await run(new Blob([`[{"id":1,"n":${value}}]`]), { format: "json", columns: { n: { type: "STRING" } } }), [
    { id: { INTEGER: 1n }, n: { STRING: value } },
  ]);
});

test("D2: versions and whole rows have exact integers too", async () => {
  const text = '{"primaryKey":{"id":9007199254740993},"attributes":{"a":[{"value":9223372036854775807,"version":5}]}}';
  assert.deepEqual(await run(new Blob([text]), { format: "ndjson" }), [{ id: { INTEGER: 9007199254740993n }, a: { INTEGER: 9223372036854775807n } }]);
});

test("D2: digits in texts and names, escapes, names given twice and texts like our mark mislead nobody", async () => {
  const cases = [
    '"9007199254740993"',
    '"\\"9007199254740993"',
    '"\\\\",9007199254740993',
    '"\\\\\\"", 9007199254740993',
    '{"9007199254740993":9007199254740993}',
    '{"a":9007199254740993,"a":1}',
    '{"a":1,"a":9007199254740993}',
    '{"2":9007199254740993,"1":9007199254740995}',
    '{"__proto__":9007199254740993}',
    '{"__proto__":{"a":9007199254740993}}',
    "[[[9007199254740993]]]",
    '"\\u00009007199254740993",9007199254740993',
    '"\\u0000\\u0000\\u00009007199254740993",9007199254740993',
    '{"\\u00009007199254740993":9007199254740993}',
    '"x\\u00009007199254740993",9007199254740993',
    '"\\\\u00009007199254740993",9007199254740993',
    "9007199254740993.0",
    "9007199254740993e0",
    "9007199254740993E-2",
    "1e9007199254740993",
    "-0",
    "0.9007199254740993",
    "-9007199254740993 ",
    `"${"\\u0000".repeat(100_000)}",9007199254740993`,
    `"${"\\\\".repeat(100_000)}",9007199254740993`,
    `${"[".repeat(500)}9007199254740993${"]".repeat(500)}`,
  ];
  for (const one of cases) assert.deepEqual(await rowsOf(`[{"v":[${one}]}]`, "json"), readJson(`[{"v":[${one}]}]`), one.slice(0, 80));
  const wrong = [
    "09007199254740993",
    "-09007199254740993",
    "+9007199254740993",
    "9007199254740993x",
    "x9007199254740993",
    "{9007199254740993:1}",
    "{9007199254740993 :1}",
    "--9007199254740993",
    '"a"9007199254740993',
    '9007199254740993"a"',
    "9007199254740993 9007199254740995",
    '"9007199254740993',
    "9007199254740993.",
    "9007199254740993e",
    "\\u00009007199254740993",
    '"\0",9007199254740993',
  ];
  for (const one of wrong) await assert.rejects(rowsOf(`{"v":${one}}`, "ndjson"), /Line 1 of the source to import is not JSON/, one);
});

test("D2: random JSON is read as a slow and exact reader does, also where it is wrong", async (t) => {
  let exact = 0;
  let refused = 0;
  for (let seed = 1; seed <= 6000; seed++) {
    const text = seed % 3 === 0 ? spoilt(wildJson(seed), seed) : wildJson(seed);
    const line = `{"v":${text}}`.replaceAll("\n", " ");
    let expected: unknown;
    try {
      expected = readJson(line);
    } catch {
      refused += 1;
      await assert.rejects(rowsOf(line, "ndjson"), /is not JSON/, `seed ${seed}: ${line}`);
      continue;
    }
    const [row] = await rowsOf(line, "ndjson");
    assert.deepEqual(row, expected, `seed ${seed}: ${line}`);
    assert.deepEqual(JSON.stringify(row, named), JSON.stringify(expected, named), `seed ${seed}: the order of names`);
    exact += 1;
  }
  t.diagnostic(`${exact} texts read, ${refused} refused`);
  assert.ok(exact > 4000 && refused > 500, `${exact}, ${refused}`);
});

/** Names in their order, and integers that JSON has no words for. */
const named = (_: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);

test("D2: inspectImport takes integers of 19 digits for integers, and what no type of number keeps for texts", async () => {
  const values: [string, string][] = [
    ["1234567890123456789", "INTEGER"],
    ["9223372036854775807", "INTEGER"],
    ["-9223372036854775808", "INTEGER"],
    ["9223372036854775809", "STRING"],
    ["18446744073709551615", "STRING"],
    ["9223372036854775808", "DOUBLE"],
    ["100000000000000000000", "DOUBLE"],
    ["12", "INTEGER"],
    ["0", "INTEGER"],
    ["1.5", "DOUBLE"],
  ];
  for (const [text, type] of values) {
    const typesOf = async (source: string, format: ImportFormat): Promise<string> => (await inspectImport(new Blob([source]), { format })).columns[0].type;
    assert.equal(await typesOf(`n\n${text}\n`, "csv"), type, `CSV ${text}`);
    assert.equal(await typesOf(`[{"n":${text}}]`, "json"), type, `JSON ${text}`);
    assert.equal(await typesOf(`{"n":${text}}`, "ndjson"), type, `NDJSON ${text}`);
    // Beside a fraction, a number that a double would round stays a text.
    assert.equal(await typesOf(`n\n${text}\n0.5\n`, "csv"), type === "STRING" || /7$|9$/.test(text) ? "STRING" : "DOUBLE", `CSV ${text} beside 0.5`);
  }
});

test("D2: what inspectImport proposes keeps every integer of 19 digits", { skip }, async () => {
  const integers = [9223372036854775807n, -9223372036854775808n, 1234567890123456789n, 9007199254740993n, 5n];
  const files: [ImportFormat, string][] = [
    ["csv", `id,n\n${integers.map((n, id) => `${id},${n}`).join("\n")}\n`],
    ["json", `[${integers.map((n, id) => `{"id":${id},"n":${n}}`).join()}]`],
    ["ndjson", integers.map((n, id) => `{"id":${id},"n":${n}}`).join("\n")],
  ];
  const db = await open({ integers: "bigint" });
  for (const [format, text] of files) {
    const blob = new Blob([text]);
    const { columns } = await inspectImport(blob, { format });
    await db.createTable({ tableName: format, primaryKey: [{ name: "id", type: "INTEGER" }] });
    await db.importRows(format, blob, { format, columns: Object.fromEntries(columns.map(({ source, name, type }) => [source, { name, type }])) });
    const found: unknown[] = [];
    for await (const row of db.scan({ tableName: format })) found.push(row.get("n"));
    assert.deepEqual(found, integers, format);
  }
  await db.close();
});
