/** Imports that end in the middle: they tell how many rows are stored, and it is true. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WriterError } from "../src/types/writer-error.js";
import { importRows } from "../src/import/index.js";
import type { ImportTarget } from "../src/import/replaced-rows.js";
import type { ImportOptions, ImportSource } from "../src/types/writer.js";
import type { FakeEngine } from "./support/engine.js";
import { openFake } from "./support/fake.js";
import { load, open, skip } from "./support/package.js";

const FULL = ["QuotaExceeded", "The disk is full"] as const;
const objects = (count: number): { id: number; a: string }[] => Array.from({ length: count }, (_, id) => ({ id, a: "é" }));
const lines = (count: number): string =>
  objects(count)
    .map((row) => JSON.stringify(row))
    .join("\n");
const numberOf = ({ key }: { key: Record<string, object> }): number => ("INTEGER" in (key.id ?? {}) ? Number((key.id as { INTEGER: bigint }).INTEGER) : -1);

/** The error of an import, after comparing the stored rows that it states with the engine's. */
async function ended(db: ImportTarget, engine: FakeEngine, source: ImportSource, options: ImportOptions = {}): Promise<WriterError> {
  let last = -1;
  const error: unknown = await importRows(db, "t", source, {
    ...options,
    onProgress: (progress) => {
      last = progress.rows;
      options.onProgress?.(progress);
    },
  }).then(
    () => assert.fail("the import did not end"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof WriterError, String(error));
  assert.equal(error.stored, engine.store.size, error.message);
  assert.ok(error.message.endsWith(` Rows stored: ${error.stored}.`), error.message);
  assert.equal(last, error.stored);
  return error;
}

for (const loads of [false, true]) {
  const how = loads ? "loaded" : "in batches";

  test(`an import that a full disk ends says which row was not stored, and how many are (${how})`, async () => {
    const { db, engine } = openFake();
    engine.loads = loads;
    engine.refuse = (row) => (numberOf(row) >= 5000 ? FULL : undefined);
    const error = await ended(db, engine, new Blob([lines(30_000)]), { format: "ndjson" });
    assert.deepEqual([error.code, error.status, error.name], ["QuotaExceeded", 507, "WriterError"]);
    assert.match(error.message, /^Row 5001: The disk is full\. Rows stored: 5000\.$/);
    assert.equal(error.failures[0].index, 5000);
    assert.equal(error.failures[0].error.code, "QuotaExceeded");
    assert.ok(error.failed >= error.failures.length && error.failed < 30_000, `${error.failed}`);
    assert.equal((error.cause as WriterError).code, "QuotaExceeded");
  });

  test(`a full disk ends an import that leaves rows out, with those that it left out (${how})`, async () => {
    const { db, engine } = openFake();
    engine.loads = loads;
    engine.refuse = (row) => (numberOf(row) >= 4000 ? FULL : numberOf(row) === 7 ? "no sevens" : undefined);
    const error = await ended(db, engine, [{ id: "x" }, ...objects(4500)], { onError: "skip" });
    assert.equal(error.code, "QuotaExceeded");
    assert.match(error.message, /^Row 4002: The disk is full\. Rows stored: 3999\.$/);
    assert.deepEqual(
      error.failures.slice(0, 3).map(({ index, error: { code } }) => [index, code]),
      [
        [0, "OTSParameterInvalid"],
        [8, "OTSParameterInvalid"],
        [4001, "QuotaExceeded"],
      ],
    );
    assert.equal(error.failed, 502);
  });
}

test("a load that finds no room when it is stored is told, with the loads that were stored before", async () => {
  const { db, engine } = openFake();
  engine.loads = true;
  engine.rowBytes = 2000;
  engine.failStore = (load) => (load >= 3 ? FULL : undefined);
  const error = await ended(db, engine, objects(60_000));
  assert.equal(error.code, "QuotaExceeded");
  assert.ok(error.stored > 2000 && error.stored < 60_000, error.message);
  assert.equal(error.failures[0].index, error.stored);
});

test("a source that fails in the middle, in each way, tells how many rows are stored", async () => {
  const broken = (text: string): ReadableStream<Uint8Array> => {
    let chunks = 0;
    return new ReadableStream({
      pull(controller) {
        if (chunks++ === 0) controller.enqueue(new TextEncoder().encode(text));
        else controller.error(new TypeError("network error"));
      },
    });
  };
  function* generator(): Generator<unknown> {
    yield* objects(700);
    throw new RangeError("no more");
  }
  async function* slow(): AsyncGenerator<unknown> {
    yield* objects(700);
    throw "a text";
  }
  const cases: [ImportSource, ImportOptions, number, string, RegExp][] = [
    [broken(`${lines(700)}\n{`), { format: "ndjson" }, 700, "Aborted", /^The import was given up: TypeError: network error\. Rows/],
    [generator() as Iterable<never>, {}, 700, "Aborted", /^The import was given up: RangeError: no more\. Rows/],
    [slow() as AsyncIterable<never>, {}, 700, "Aborted", /^The import was given up: a text\. Rows/],
    [broken(`${lines(700)}\n{"id":}\n`), { format: "ndjson" }, 700, "OTSParameterInvalid", /^Line 701 of the source/],
    [
      new Blob([`${lines(700)}\n{"id":7.5}\n`]),
      { format: "ndjson" },
      700,
      "OTSParameterInvalid",
      /^Row 701: The column 'id' cannot be read as INTEGER: its value is 7\.5\. Rows/,
    ],
    [
      new Blob([`${lines(700)}\n{"id":800,"a":18446744073709551616}\n`]),
      { format: "ndjson" },
      700,
      "OTSParameterInvalid",
      /^Row 701: The integer 18446744073709551616 of column 'a'/,
    ],
    [new Blob(['id,a\n1,x\n2,"y\n']), { format: "csv" }, 1, "OTSParameterInvalid", /^Row 2 of the CSV to import: a quoted field/],
    [new Blob(["id,a\n1,", Uint8Array.of(0xe9), "\n"]), { format: "csv" }, 0, "OTSParameterInvalid", /not UTF-8/],
  ];
  for (const [source, options, rows, code, message] of cases) {
    const { db, engine } = openFake();
    const error = await ended(db, engine, source, options);
    assert.deepEqual([error.stored, error.code], [rows, code], error.message);
    assert.match(error.message, message);
    if (code === "Aborted") assert.ok(["network error", "no more", "a text"].includes((error.cause as Error).message ?? error.cause));
  }
});

test("a listener that throws ends the import, and what it threw is the cause", async () => {
  const { db, engine } = openFake();
  const mine = new Error("mine");
  const error = await ended(db, engine, objects(5000), {
    onProgress: ({ rows }) => {
      if (rows > 300) throw mine;
    },
  });
  assert.equal(error.code, "Aborted");
  assert.match(error.message, /^The import was given up: Error: mine\. Rows stored: \d+\.$/);
  assert.equal(error.cause, mine);
});

test("an import that its signal gives up rejects with the signal's reason", async () => {
  for (const reason of [new Error("enough"), "enough", undefined]) {
    const { db } = openFake();
    const control = new AbortController();
    const importing = importRows(db, "t", objects(5000), {
      signal: control.signal,
      onProgress: ({ rows }) => {
        if (rows > 300) control.abort(reason);
      },
    });
    await assert.rejects(importing, (error: unknown) => error === control.signal.reason);
  }
});

test("what is wrong before the first row is read is refused as ever: nothing can be stored", async () => {
  const { db } = openFake();
  await assert.rejects(importRows(db, "t", 5 as never, {}), (error: Error) => error.name === "TabStoreError");
});

test("the real engine: what an import that ends says is what can be read", { skip }, async () => {
  const { WriterError } = await load();
  const rows = objects(30_000);
  function* generator(): Generator<unknown> {
    yield* rows;
    throw new RangeError("no more");
  }
  const cases: [string, ImportSource, ImportOptions, string][] = [
    ["a source that throws", generator() as Iterable<never>, {}, "Aborted"],
    ["a file that breaks off", new Blob([`[${lines(30_000).replaceAll("\n", ",")}`]), { format: "json" }, "OTSParameterInvalid"],
    ["a row that cannot be read", [...rows, { id: "x" }, ...rows], {}, "OTSParameterInvalid"],
    ["a row that the engine refuses", [...rows, { id: 30_000, "a b": 1 }, ...objects(40_000).slice(30_001)], {}, "OTSParameterInvalid"],
    ["a row that the engine refuses, among many writers' rows", [...rows.toReversed(), { id: 30_000, "a b": 1 }], {}, "OTSParameterInvalid"],
  ];
  const db = await open();
  for (const [what, source, options, code] of cases) {
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    const error: unknown = await db.importRows("t", source, options).catch((reason: unknown) => reason);
    assert.ok(error instanceof WriterError, what);
    assert.equal(error.code, code, what);
    let found = 0;
    for await (const page of db.scanPages({ tableName: "t" })) found += page.length;
    assert.deepEqual([error.stored, /Rows stored: (\d+)\.$/.exec(error.message)?.[1]], [found, String(found)], what);
    assert.ok(found >= 10_000, `${what}: ${found}`);
    await db.deleteTable("t");
  }
  await db.close();
});

test("a delimiter that cannot stand between fields is refused by name, and no import runs for ever", { skip, timeout: 20_000 }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const { inspectImport } = await load();
  for (const delimiter of ["", '"', "\n", "\r\n", 5, {}, [","]]) {
    const wrong = { format: "csv", delimiter } as never;
    const named = (error: unknown): boolean => /'delimiter'/.test((error as Error).message) && (error as { code: string }).code === "OTSParameterInvalid";
    await assert.rejects(db.importRows("t", new Blob(["id,a\n1,é\n"]), wrong), named, inspectText(delimiter));
    await assert.rejects(inspectImport(new Blob(["id,a\n1,é\n"]), wrong), named, inspectText(delimiter));
  }
  for (const rows of [0, -1, 1.5, "5", {}, null]) await assert.rejects(inspectImport(new Blob(["id\n1\n"]), { format: "csv", rows } as never), /'rows'/);
  assert.equal((await db.importRows("t", new Blob(["id||a\n1||é\n"]), { format: "csv", delimiter: "||" })).rows, 1);
  await db.close();
});

const inspectText = (value: unknown): string => JSON.stringify(value);

test("an import ends by its signal and with its database also where its source gives nothing for ever", { skip, timeout: 20_000 }, async () => {
  async function* never(): AsyncGenerator<{ id: number }> {
    yield { id: 1 };
    await new Promise(() => {});
  }
  const stalled = (): ReadableStream<Uint8Array> => new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("id,a\n1,é\n")) });
  for (const [source, options] of [
    [never, {}],
    [stalled, { format: "csv" }],
  ] as const) {
    const db = await open();
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    const control = new AbortController();
    const aborted = assert.rejects(db.importRows("t", source() as never, { ...options, signal: control.signal }), /enough/);
    setTimeout(() => control.abort(new Error("enough")), 20);
    await aborted;
    const closed = assert.rejects(db.importRows("t", source() as never, options), (error) => (error as { code: string }).code === "Closed");
    await new Promise((resolve) => setTimeout(resolve, 20));
    await db.close();
    await closed;
  }
});

test("C1: an import that skips rows tells what the others cost, and a listener that is no function is refused before anything is stored", {
  skip,
}, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], definedColumns: [{ name: "n", type: "INTEGER" }] });
  const rows = Array.from({ length: 300 }, (_, id) => ({ primaryKey: { id }, attributes: { n: id === 7 ? "no integer" : id } }));
  await assert.rejects(db.importRows("t", rows, { onProgress: 5 as never }), /'onProgress'/);
  assert.equal((await db.getRange({ tableName: "t" })).rows.length, 0);
  const {
    rows: stored,
    skipped,
    consumed,
  } = await db.importRows(
    "t",
    rows.map(({ primaryKey, attributes }) => ({ primaryKey, attributes: attributes as never })),
    { onError: "skip" },
  );
  assert.deepEqual([stored + skipped, consumed.write >= stored], [300, true]);
  await db.close();
});

test('onError: "skip" leaves out the rows that cannot be stored, and no others', { skip, timeout: 60_000 }, async () => {
  for (const limits of ["document", "sdk"] as const) {
    const db = await open({ limits });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    let expected = 0;
    for (const [n, bad] of [
      { [limits === "sdk" ? "#b" : "b c"]: 1 },
      { ["x".repeat(256)]: 1 },
      { a: "x".repeat((2 << 20) + 1) },
      { a: new Uint8Array((2 << 20) + 1) },
    ].entries()) {
      for (const place of [0, 1, 150, 299]) {
        const rows = Array.from({ length: 300 }, (_, i) => ({
          primaryKey: { id: (n * 4 + place) * 1000 + i + n * 1_000_000 },
          attributes: i === place ? bad : { a: "é" },
        }));
        const { rows: stored, skipped, failures } = await db.importRows("t", rows as never, { onError: "skip" });
        assert.deepEqual([stored, skipped, failures.map(({ row }) => row)], [299, 1, [place + 1]], `${limits} ${n} ${place}`);
        expected += 299;
      }
    }
    assert.equal((await db.computeStorage("t")).rows, expected);
    // Rows within the laxer limits are stored.
    if (limits === "sdk")
      assert.equal((await db.importRows("t", [{ primaryKey: { id: -1 }, attributes: { "b c": 1, 日本: 2 } }], { onError: "skip" })).rows, 1);
    await db.close();
  }
});
