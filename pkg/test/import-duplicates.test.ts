/** Imports of rows whose keys are there already, in the table or in the source: none is lost without a word. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database, ImportOptions, RowWriter, WriterError } from "../src/index.js";
import { LOOK_MOST } from "../src/import/replaced-rows.js";
import { Seen } from "../src/import/seen.js";
import { load, open, random, skip, times } from "./support/package.js";

const KEY = [{ name: "id", type: "INTEGER" as const }];

async function table(db: Database, primaryKey: { name: string; type: "INTEGER" | "STRING" | "BINARY" }[] = KEY): Promise<Database> {
  await db.createTable({ tableName: "t", primaryKey });
  return db;
}

const csv = (rows: readonly (readonly unknown[])[]): Blob => new Blob([["id,v", ...rows.map((row) => row.join(","))].join("\n")]);
const options: ImportOptions = { format: "csv", columns: { v: { type: "INTEGER" } } };

/** What the table has, by its ids. */
async function rows(db: Database): Promise<Map<number, unknown>> {
  const found = new Map<number, unknown>();
  for await (const row of db.scan({ tableName: "t" })) found.set(row.primaryKey.id as number, row.get("v"));
  return found;
}

test("a key that comes twice in a source replaces a row, and the import tells so", { skip }, async () => {
  const db = await table(await open());
  const first = await db.importRows(
    "t",
    csv([
      [1, 10],
      [2, 20],
      [1, 11],
      [3, 30],
      [1, 12],
    ]),
    options,
  );
  assert.deepEqual([first.rows, first.replaced, first.skipped, first.skippedDuplicates], [5, 2, 0, 0]);
  // In a table with rows: those, and the source's own.
  const second = await db.importRows(
    "t",
    csv([
      [3, 31],
      [4, 40],
      [4, 41],
      [5, 50],
    ]),
    options,
  );
  assert.deepEqual([second.rows, second.replaced], [4, 2]);
  assert.deepEqual(
    await rows(db),
    new Map([
      [1, 12],
      [2, 20],
      [3, 31],
      [4, 41],
      [5, 50],
    ]),
  );
  // A row that is refused replaces nothing.
  const third = await db.importRows(
    "t",
    [
      { id: 6, v: {} },
      { id: 6, v: 1 },
      { id: "x", v: 1 },
    ],
    { onError: "skip" },
  );
  assert.deepEqual([third.rows, third.replaced, third.skipped], [1, 0, 2]);
  await db.close();
});

test("onDuplicate: skip keeps the first row of each key, and counts the others", { skip }, async () => {
  const db = await table(await open());
  await db.putRow({ tableName: "t", primaryKey: { id: 2 }, attributes: { v: 5 } });
  const result = await db.importRows(
    "t",
    csv([
      [1, 10],
      [2, 20],
      [1, 11],
      ["x", 1],
      [3, 30],
    ]),
    { ...options, onDuplicate: "skip", onError: "skip" },
  );
  assert.deepEqual([result.rows, result.replaced, result.skipped, result.skippedDuplicates], [2, 0, 1, 2]);
  assert.deepEqual(
    result.failures.map(({ row }) => row),
    [4],
  );
  assert.deepEqual(
    await rows(db),
    new Map([
      [1, 10],
      [2, 5],
      [3, 30],
    ]),
  );
  await db.close();
});

test("onDuplicate: stop ends at the first key that is there, names its row, and replaces nothing", { skip }, async () => {
  const db = await table(await open());
  await assert.rejects(
    db.importRows(
      "t",
      csv([
        [1, 10],
        [2, 20],
        [1, 11],
        [3, 30],
      ]),
      { ...options, onDuplicate: "stop" },
    ),
    (error: WriterError) => {
      assert.equal(error.code, "OTSConditionCheckFail");
      assert.match(error.message, /^Row 3: /);
      assert.match(error.hint ?? "", /onDuplicate/);
      return true;
    },
  );
  assert.equal((await rows(db)).get(1), 10);
  // It is no matter of rows that cannot be read.
  await assert.rejects(db.importRows("t", csv([[1, 12]]), { ...options, onDuplicate: "stop", onError: "skip" }), /^WriterError: Row 1: /);
  assert.equal((await rows(db)).get(1), 10);
  await assert.rejects(
    db.importRows("t", csv([]), { ...options, onDuplicate: "ask" as never }),
    /'onDuplicate' is 'ask'; it must be one of replace, stop, skip/,
  );
  await db.close();
});

test("onDuplicate: stop ends the reading of the source too, whatever is done with rows that cannot be read", { skip }, async () => {
  const db = await table(await open());
  await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
  let read = 0;
  const endless = function* () {
    for (;;) yield { id: ++read };
  };
  await assert.rejects(db.importRows("t", endless(), { onDuplicate: "stop", onError: "skip" }), /Row 1: /);
  assert.ok(read < 50_000, `${read} rows were read`);
  // So does a table that goes.
  const first = read;
  const gone = function* () {
    for (;;) {
      if (++read === first + 1000) void db.deleteTable("t");
      yield { id: read };
    }
  };
  await assert.rejects(db.importRows("t", gone(), { onError: "skip" }), /Requested table does not exist/);
  await db.close();
});

test("a store that assigns keys has no duplicates", { skip }, async () => {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "g", type: "STRING" },
      { name: "id", type: "INTEGER", autoIncrement: true },
    ],
  });
  for (const onDuplicate of ["replace", "skip", "stop"] as const) {
    const { rows, replaced, skippedDuplicates } = await db.importRows("t", [{ g: "a" }, { g: "a" }, { g: "b" }], { onDuplicate });
    assert.deepEqual([rows, replaced, skippedDuplicates], [3, 0, 0]);
  }
  assert.equal((await db.count({ tableName: "t" })).count, 9);
  await db.close();
});

test("whatever is there and whatever comes, an import's numbers are those of a model", { skip }, async () => {
  for (let seed = 1; seed <= times(25, 10); seed++) {
    const next = random(seed);
    const db = await table(await open());
    const model = new Map<number, unknown>();
    const keys = 1 + next(1 << (1 + next(14)));
    for (let round = 0; round < 3; round++) {
      const count = next(4) === 0 && round > 0 ? LOOK_MOST + next(3000) : next(700);
      const onDuplicate = (["replace", "replace", "skip"] as const)[next(3)]!;
      const sorted = next(2) === 0;
      const source = Array.from({ length: count }, (_, at) => ({ id: sorted ? Math.floor((at * keys) / count) : next(keys), v: at }));
      const expected = { rows: 0, replaced: 0, skippedDuplicates: 0 };
      for (const { id, v } of source) {
        if (!model.has(id)) expected.rows += 1;
        else if (onDuplicate === "skip") expected.skippedDuplicates += 1;
        else {
          expected.rows += 1;
          expected.replaced += 1;
        }
        if (onDuplicate === "replace" || !model.has(id)) model.set(id, v);
      }
      const given = source.map(({ id, v }, at) => ({ id: at % 3 === 0 ? BigInt(id) : id, v }));
      const { rows: stored, replaced, skippedDuplicates } = await db.importRows("t", given as never, { onDuplicate });
      assert.deepEqual({ rows: stored, replaced, skippedDuplicates }, expected, `seed ${seed}, round ${round}, ${onDuplicate}, ${count} rows of ${keys} keys`);
    }
    assert.deepEqual(
      [...(await rows(db))].sort(([a], [b]) => a - b),
      [...model].sort(([a], [b]) => a - b),
      `seed ${seed}`,
    );
    await db.close();
  }
});

test("a writer with a condition stores only rows that are not there, and tells of each other one", { skip }, async () => {
  const db = await table(await open());
  await db.putRow({ tableName: "t", primaryKey: { id: 3 }, attributes: { v: 0 } });
  const failed: [number, string][] = [];
  const writer = db.writer("t", { condition: { rowExistence: "EXPECT_NOT_EXIST" }, onFailure: ({ index, error }) => failed.push([index, error.code]) });
  for (let at = 0; at < 5000; at++) {
    const wait = writer.put({ primaryKey: { id: at % 4000 }, attributes: { v: 1 } });
    if (wait) await wait;
  }
  await assert.rejects(writer.close(), /1001 of 5000 rows/);
  assert.deepEqual(
    failed.map(([index]) => index).sort((a, b) => a - b),
    [3, ...Array.from({ length: 1000 }, (_, at) => 4000 + at)],
  );
  assert.deepEqual(new Set(failed.map(([, code]) => code)), new Set(["OTSConditionCheckFail"]));
  assert.equal((await rows(db)).get(3), 0);
  const { TabStoreError } = await load();
  const thrown = db.writer("t", {
    onFailure: () => {
      throw new Error("listener");
    },
    condition: { rowExistence: "EXPECT_EXIST" },
  });
  thrown.put({ primaryKey: { id: 1e6 } });
  await assert.rejects(thrown.close(), /listener/);
  assert.throws(() => db.writer("t", { onFailure: 1 as never }), TabStoreError);
  // A listener may flush while rows are dropped: they do not leave, and nobody waits for them.
  const control = new AbortController();
  const dropped: RowWriter = db.writer("t", { signal: control.signal, onFailure: () => void dropped.flush().catch(() => {}) });
  for (let id = 9000; id < 9005; id++) dropped.put({ primaryKey: { id } });
  control.abort(new Error("enough"));
  await assert.rejects(dropped.close(), /enough/);
  assert.deepEqual(
    [...(await rows(db)).keys()].filter((id) => id >= 9000),
    [],
  );
  await db.close();
});

test("the set of seen keys tells keys apart by their values, and integers alike in both of their types", () => {
  const seen = new Seen();
  const fresh = [
    ["a", "b"],
    ["ab", ""],
    ["", "ab"],
    [1],
    [2 ** 32],
    [-1],
    [-(2 ** 32)],
    [2n ** 63n - 1n],
    [-(2n ** 63n)],
    ["1"],
    [Uint8Array.of(1)],
    [Uint8Array.of(1, 0)],
    [Uint8Array.of()],
    [""],
    [0],
  ];
  for (const key of fresh) assert.equal(seen.add(key), true, String(key));
  for (const key of fresh) assert.equal(seen.add(key), false, String(key));
  for (const key of [1, 2 ** 32, -1, -(2 ** 32), 0]) assert.equal(seen.add([BigInt(key)]), false, String(key));
  assert.equal(seen.add(["a", { autoIncrement: true }]), undefined);
  const many = new Seen();
  for (let at = 0; at < 200_000; at++) assert.ok(many.add([`row ${at % 7}`, at]));
  for (let at = 0; at < 200_000; at += 17) assert.equal(many.add([`row ${at % 7}`, at]), false);
  // Among so many some share 32 bits of their hashes: all 64 count.
  const texts = new Seen();
  const next = random(7);
  const drawn = new Set(Array.from({ length: 300_000 }, () => `${next(2 ** 30)} ${next(2 ** 30)}`));
  for (const text of drawn) assert.ok(texts.add([text]), text);
});

test("each row of a source that gives one object again and again is stored as it was when it came", { skip }, async () => {
  const tableName = "t";
  const key = [{ name: "id", type: "INTEGER" as const }];
  function* again(from: number, count: number): Generator<{ id: number; v: number; bytes: Uint8Array }> {
    const row = { id: 0, v: 0, bytes: new Uint8Array(2) };
    for (let id = from; id < from + count; id++) {
      row.bytes[0] = id % 251;
      yield Object.assign(row, { id, v: id * 2 });
    }
  }
  for (const onDuplicate of ["replace", "skip", "stop"] as const) {
    const db = await open();
    await db.createTable({ tableName, primaryKey: key });
    const first = await db.importRows(tableName, again(0, 1000), { onDuplicate });
    assert.deepEqual([first.rows, first.replaced ?? 0, first.skippedDuplicates ?? 0], [1000, 0, 0], onDuplicate);
    if (onDuplicate !== "stop") {
      // Half of these are there already: where they are replaced, the table is asked for them before.
      const second = await db.importRows(tableName, again(500, 1000), { onDuplicate });
      assert.equal(onDuplicate === "replace" ? second.replaced : second.skippedDuplicates, 500, onDuplicate);
    }
    let count = 0;
    for await (const row of db.scan({ tableName })) {
      const id = Number(row.primaryKey["id"]);
      assert.deepEqual([id, row.get("v"), (row.get("bytes") as Uint8Array)[0]], [count, count * 2, count % 251], onDuplicate);
      count += 1;
    }
    assert.equal(count, onDuplicate === "stop" ? 1000 : 1500);
    await db.close();
  }
});

test("a source of rows is ended when the import ends before it, and not once it has failed", { skip }, async () => {
  const db = await table(await open());
  for (const fails of [false, true]) {
    let ended = 0;
    let id = 0;
    const rows = {
      [Symbol.iterator]: () => ({
        next: () => {
          if (fails && id === 700) throw new Error("the source fails");
          return { done: false, value: id === 600 ? { id: "wrong" } : { id: id++ } };
        },
        return: () => ((ended += 1), { done: true, value: undefined }),
      }),
    };
    if (fails) id = 601;
    await assert.rejects(db.importRows("t", rows as never));
    assert.equal(ended, fails ? 0 : 1);
  }
  await db.close();
});
