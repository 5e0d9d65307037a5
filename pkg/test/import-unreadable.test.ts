/** Sources of which a part cannot be read: the other rows are stored, and what is in the way is named. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { importRows, inspectImport } from "../src/import/index.js";
import type { ImportOptions, ImportSource, WriterError } from "../src/index.js";
import type { KeyColumn } from "../src/types/tables.js";
import { openFake, stored } from "./support/fake.js";
import { open, skip } from "./support/package.js";

const KEY: KeyColumn[] = [{ name: "id", type: "INTEGER" }];
const text = (content: string | Uint8Array<ArrayBuffer>): Blob => new Blob([content]);

interface Ended {
  ids: number[];
  skipped: number;
  failures: string[];
}

/** What an import stores, with the failures that it names. */
async function run(source: ImportSource, options: ImportOptions): Promise<Ended> {
  const { db, engine } = openFake(KEY);
  const ids = (): number[] => (stored(engine) as { id: { INTEGER: bigint } }[]).map(({ id }) => Number(id.INTEGER));
  try {
    const { skipped, failures } = await importRows(db, "t", source, options);
    return { ids: ids(), skipped, failures: failures.map(({ row, error }) => `${row}: ${error.message}`) };
  } catch (error) {
    return { ids: ids(), skipped: (error as WriterError).failed, failures: [(error as Error).message] };
  }
}

const CSV = 'id,a\n1,x\n2\n3,y\n"4"z,5\n6,w\n7,x,y\n8,"v\n9,u\n';

test("onError: skip leaves out CSV rows that cannot be read, and stores all others", async () => {
  const { ids, skipped, failures } = await run(text(CSV), { format: "csv", onError: "skip" });
  assert.deepEqual([ids, skipped], [[1, 3, 6], 4]);
  assert.deepEqual(failures, [
    "2: Row 2 of the CSV to import has 1 fields, its first line 2.",
    "4: Row 4 of the CSV to import: text stands behind the closing quote of a field.",
    "6: Row 6 of the CSV to import has 3 fields, its first line 2.",
    "7: Row 7 of the CSV to import: a quoted field has no closing quote.",
  ]);
});

test("onError: skip leaves out lines of NDJSON that are no JSON, and no objects", async () => {
  const { ids, skipped, failures } = await run(text('{"id":1}\n{"id":2\n\n[3]\n{"id":4}\nnull\n{"id":5,}'), { format: "ndjson", onError: "skip" });
  assert.deepEqual([ids, skipped], [[1, 4], 4]);
  assert.match(failures[0]!, /^2: Line 2 of the source to import is not JSON/);
  assert.match(failures[1]!, /^3: Row 3: It is an array; it must be an object/);
  assert.match(failures[3]!, /^6: Line 7 of the source/);
});

test("the rows before one that cannot be read are stored, also with onError: stop", async () => {
  for (const [format, source, message] of [
    ["csv", CSV, /^Row 2 of the CSV to import has 1 fields.*Rows stored: 1\.$/],
    ["ndjson", '{"id":1}\n{"id":2}\n{"id":3\n{"id":4}', /^Line 3 of .*Rows stored: 2\.$/],
    ["json", '[{"id":1},{"id":2,"a":"],{"},{"id":3,},{"id":4}]', /^Element 3 of the JSON.*Rows stored: 2\.$/],
  ] as const) {
    const { ids, failures } = await run(text(source), { format });
    assert.match(failures[0]!, message);
    assert.equal(ids.length, Number(/stored: (\d+)/.exec(failures[0]!)![1]));
  }
  // Nothing tells where the next element of an array begins.
  const json = await run(text('[{"id":1},{"id":2,},{"id":3}]'), { format: "json", onError: "skip" });
  assert.deepEqual(json.ids, [1]);
  assert.match(json.failures[0]!, /^Element 2 of the JSON/);
});

test("what is wrong with JSON is told alike, wherever its bytes are cut", async () => {
  for (const [source, message, ids] of [
    ['[{"id":1},{"id":2}] x', /something after the end/, [1, 2]],
    ['[{"id":1},{"id":2},]', /^Element 3 of the JSON/, [1, 2]],
    ['[{"id":1},,{"id":2}]', /^Element 2 of the JSON/, [1]],
    ["[,]", /^Element 1 of the JSON/, []],
    ["[ ]", undefined, []],
    ['[{"id":1}]\n ', undefined, [1]],
  ] as const) {
    for (const size of [1, 2, 3, 7, 99]) {
      const bytes = new TextEncoder().encode(source);
      let at = 0;
      const cut = new ReadableStream<Uint8Array>({ pull: (to) => (at >= bytes.length ? to.close() : to.enqueue(bytes.slice(at, (at += size)))) });
      const ended = await run(cut, { format: "json", onError: "skip" });
      assert.deepEqual(ended.ids, ids, `${source} by ${size}`);
      if (message === undefined) assert.deepEqual(ended.failures, []);
      else assert.match(ended.failures[0]!, message, `${source} by ${size}`);
    }
  }
});

test("the first row of a CSV without a header may be one that cannot be read", async () => {
  const { ids, failures } = await run(text('"1"x,a\n2,b\n3,c\n'), { format: "csv", header: false, onError: "skip", columns: { _1: { name: "id" } } });
  assert.deepEqual([ids, failures], [[2, 3], ["1: Row 1 of the CSV to import: text stands behind the closing quote of a field."]]);
});

test("an element with very many commas that is wrong is found at once", async () => {
  const wide = JSON.stringify({ id: 2, v: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`c${at}`, at])) });
  const started = performance.now();
  const { failures } = await run(text(`[{"id":1},${wide.slice(0, -1)},]`), { format: "json" });
  assert.match(failures[0]!, /^(?:Element 2|The JSON)/);
  assert.ok(performance.now() - started < 5000);
});

const UTF16 = (content: string, big: boolean, mark: boolean): Uint8Array<ArrayBuffer> => {
  const all = `${mark ? "\ufeff" : ""}${content}`;
  const bytes = new Uint8Array(all.length * 2);
  for (let at = 0; at < all.length; at++) new DataView(bytes.buffer).setUint16(at * 2, all.charCodeAt(at), !big);
  return bytes;
};

test("a source that is UTF-16, gzip or a ZIP archive is told as that, with the decoder that helps", async () => {
  const gzip = new Uint8Array(await new Response(text("id,a\n1,x\n").stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer());
  for (const [bytes, message, hint] of [
    [UTF16("id,a\n1,x\n", false, true), /is UTF-16, not UTF-8/, /TextDecoderStream\("utf-16le"\)/],
    [UTF16("id,a\n1,x\n", true, true), /is UTF-16/, /"utf-16be"/],
    [UTF16("id,a\n1,x\n", false, false), /is UTF-16/, /"utf-16le"/],
    [UTF16("id,a\n1,x\n", true, false), /is UTF-16/, /"utf-16be"/],
    [gzip, /compressed by gzip/, /DecompressionStream\("gzip"\)/],
    [Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0), /ZIP archive/, /CSV/],
  ] as const) {
    for (const attempt of [() => importRows(openFake(KEY).db, "t", text(bytes), { format: "csv" }), () => inspectImport(text(bytes), { format: "csv" })]) {
      await assert.rejects(attempt(), (error: Error & { hint?: string }) => {
        assert.match(error.message, message);
        assert.match(error.hint ?? "", hint);
        return true;
      });
    }
  }
  // The advice works.
  for (const [bytes, label] of [
    [UTF16("id,a\n1,é\n", false, true), "utf-16le"],
    [UTF16("id,a\n1,é\n", true, true), "utf-16be"],
  ] as const) {
    const decoded = text(bytes).stream().pipeThrough(new TextDecoderStream(label)).pipeThrough(new TextEncoderStream());
    assert.deepEqual((await run(decoded as never, { format: "csv" })).ids, [1]);
  }
  assert.deepEqual((await run(text(gzip).stream().pipeThrough(new DecompressionStream("gzip")) as never, { format: "csv" })).ids, [1]);
});

test("JSON whose rows are within an object is told as that, with the way that helps", async () => {
  const file = text('{"rows":[{"id":1},{"id":2}]}');
  await assert.rejects(importRows(openFake(KEY).db, "t", file, { format: "json" }), (error: Error & { hint?: string }) => {
    assert.match(error.message, /must be an array of objects/);
    assert.match(error.hint ?? "", /JSON\.parse\(await file\.text\(\)\)\.rows/);
    return true;
  });
  const { rows } = JSON.parse(await file.text()) as { rows: never };
  assert.deepEqual((await run(rows, {})).ids, [1, 2]);
});

/** A Blob of a simulated browser: the host's classes do not know it. */
const foreign = (content: string, methods: object): Blob => ({ size: content.length, type: "text/csv", slice: () => {}, ...methods }) as never;

test("a Blob of another realm is read where it can be, and named where it cannot", async () => {
  const bytes = new TextEncoder().encode("id,a\n1,x\n");
  assert.deepEqual((await run(foreign("id,a\n1,x\n", { arrayBuffer: () => Promise.resolve(bytes.buffer) }), {})).ids, [1]);
  assert.deepEqual((await run(foreign("id,a\n1,x\n", { stream: () => text(bytes).stream() }), {})).ids, [1]);
  await assert.rejects(importRows(openFake(KEY).db, "t", foreign("", {}), {}), /neither stream\(\) nor arrayBuffer\(\)/);
});

test("inspectImport shows the columns of a header alone, of files without one, and how far it looked", async () => {
  const of = async (content: string, options: object = {}) => {
    const { columns, rows, whole } = await inspectImport(text(content), { format: "csv", ...options });
    return { columns: columns.map(({ source, name, type }) => `${source}=${name}:${type}`), rows: rows.length, whole };
  };
  assert.deepEqual(await of("id,a b\n"), { columns: ["id=id:STRING", "a b=a_b:STRING"], rows: 0, whole: true });
  assert.deepEqual(await of("id,a,a,\n1,2,3,x\n"), { columns: ["id=id:INTEGER", "a=a:INTEGER", "a_2=a_2:INTEGER", "_4=_4:STRING"], rows: 1, whole: true });
  assert.deepEqual(await of("1,x\n2,y\n", { header: false }), { columns: ["_1=_1:INTEGER", "_2=_2:STRING"], rows: 2, whole: true });
  assert.deepEqual(await of("a\n1\n2\n3\n", { rows: 2 }), { columns: ["a=a:INTEGER"], rows: 2, whole: false });
  assert.deepEqual(await of("a\n1\n2\n", { rows: 2 }), { columns: ["a=a:INTEGER"], rows: 2, whole: true });
  // A fault behind the preview is none of it.
  assert.deepEqual(await of("a,b\n1,2\n3\n", { rows: 1 }), { columns: ["a=a:INTEGER", "b=b:INTEGER"], rows: 1, whole: false });
  assert.deepEqual(await of("# x\na\n1\n", { comment: "#" }), { columns: ["a=a:INTEGER"], rows: 1, whole: true });
  // An import gives the columns the same names.
  const { db, engine } = openFake(KEY);
  await importRows(db, "t", text("id,a,a,\n1,2,3,x\n"), { format: "csv", rename: "legal" });
  assert.deepEqual(stored(engine), [{ id: { INTEGER: 1n }, a: { STRING: "2" }, a_2: { STRING: "3" }, _4: { STRING: "x" } }]);
});

test("D2: DOUBLE is proposed only where each text comes back as it was", async () => {
  const typeOf = async (...values: string[]): Promise<string> => (await inspectImport(text(`v\n${values.join("\n")}\n`), { format: "csv" })).columns[0]!.type;
  assert.equal(await typeOf("1.5", "-0.25", "3", "10.0"), "DOUBLE");
  for (const lossy of ["1.10", "0.1000", "12345678901234567.8", "1e5", ".5", "+1.5", "1.", "007.5", "-0.0", "0x1p3"])
    assert.equal(await typeOf("1.5", lossy), "STRING", lossy);
  assert.equal(await typeOf("1e+300", "1.5e-7"), "DOUBLE");
});

test("R8: a value over the limit names its column at any size, however it comes", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (const megabytes of [2.5, 11, 17, 40]) {
    const note = "x".repeat(megabytes * 1e6);
    const wanted = new RegExp(`The length of attribute column: 'note' exceeds the MaxLength:2097152 with CurrentLength:${note.length}\\.`);
    for (const attempt of [
      () => db.importRows("t", new Blob([`id,note\n1,${note}\n`]), { format: "csv" }),
      () => db.importRows("t", [{ id: 1, note }]),
      () => db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { note } }),
      () => db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { note: new Uint8Array(note.length) } }),
      async () => {
        const [result] = await db.batchWriteRow([{ tableName: "t", put: { primaryKey: { id: 1 }, attributes: { note } } }]);
        if (!result.ok) throw result.error;
      },
    ])
      await assert.rejects(attempt, wanted);
  }
  await assert.rejects(
    db.getRow({ tableName: "t", primaryKey: { id: "y".repeat(11e6) as never } }),
    /primary key column: 'id' exceeds the MaxLength:1024 with CurrentLength:11000000/,
  );
  assert.equal((await db.count({ tableName: "t" })).count, 0);
  await db.close();
});

test("what is derived from a Map, whose size throws, is refused by name as a source", async () => {
  for (const source of [new Proxy(new Map([["a", 1]]), {}), Object.create(Set.prototype) as object]) {
    const { ids, failures } = await run(source as never, {});
    assert.deepEqual(ids, []);
    assert.match(failures.join(), /^The import was given up: TypeError/);
    await assert.rejects(inspectImport(source as never), /TabStoreError: The argument 'source' is (a Map|an? .*); it must be a Blob/);
  }
});
