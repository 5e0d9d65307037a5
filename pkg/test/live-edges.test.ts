/** Live queries at their edges: listeners that subscribe, slow readers, many rows, odd keys, wrong arguments. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import type { Database, LiveRows, PrimaryKey, Row } from "../src/index.js";
import { code, open, skip, times } from "./support/package.js";
import { until } from "./support/turn.js";

const tableName = "t";
const put = (id: number, v: unknown = id) => ({ tableName, primaryKey: { id }, attributes: { v } }) as never;
const ids = (rows: readonly { primaryKey: PrimaryKey }[] | undefined): unknown[] | undefined => rows?.map(({ primaryKey }) => primaryKey.id);
const keys = (changed: readonly PrimaryKey[]): unknown[] => changed.map(({ id }) => id);
const shown = (rows: readonly Row[] | undefined): string => JSON.stringify(rows?.map((row) => [row.toObject(), row.columns]));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function table(primaryKey: readonly object[] = [{ name: "id", type: "INTEGER" }], options: object = {}): Promise<Database> {
  const db = await open(options as never);
  await db.createTable({ tableName, primaryKey: primaryKey as never, maxVersions: 2 });
  return db;
}

async function scanned(db: Database): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of db.scan({ tableName, maxVersions: 2 })) rows.push(row);
  return rows;
}

/** The bytes in use, in MB. */
function used(): number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

test("a listener may end its subscription and begin another one, and is called once for each change", { skip }, async () => {
  const db = await table();
  const live = db.watch({ tableName });
  let calls = 0;
  let end = (): void => {};
  const listener = (): void => {
    calls += 1;
    assert.ok(calls < 100, "it is called without an end");
    end();
    if (live.getSnapshot().error === undefined) end = live.subscribe(listener);
  };
  end = live.subscribe(listener);
  await until(
    () => calls === 1,
    () => "not called",
  );
  await db.putRow(put(1));
  await until(
    () => calls === 2,
    () => `${calls} calls`,
  );
  await pause(20);
  assert.equal(calls, 2);
  // One that another one has ended is not called any more.
  let ended = 0;
  const first = live.subscribe(() => other());
  const other = live.subscribe(() => (ended += 1));
  await db.putRow(put(2));
  await until(
    () => calls === 3,
    () => `${calls} calls`,
  );
  assert.equal(ended, 0);
  first();
  end();
  await db.close();
});

test("whoever subscribes is told of all that comes after, at whatever moment", { skip }, async () => {
  const db = await table();
  await db.putRow(put(1, -1));
  const live = db.watch({ tableName });
  const end = live.subscribe(() => {});
  await until(
    () => live.getSnapshot().rows !== undefined,
    () => "no rows",
  );
  const missed: number[] = [];
  for (let moment = 0; moment < 80; moment++) {
    const stored = db.putRow(put(1, moment));
    if (moment >= 40) await stored;
    for (let i = 0; i < moment % 40; i++) await undefined;
    const seen = live.getSnapshot();
    let told = 0;
    const mine = live.subscribe(() => (told += 1));
    await stored;
    await until(
      () => live.getSnapshot().rows![0].get("v") === moment,
      () => "not shown",
    );
    await pause(1);
    if (live.getSnapshot() !== seen && told === 0) missed.push(moment);
    mine();
  }
  assert.deepEqual(missed, []);
  end();
  await db.close();
});

test("a row that one commit changes and another row's coming pushes out of the limit is told as gone", { skip }, async () => {
  const db = await open();
  await db.createTable({
    tableName,
    primaryKey: [
      { name: "p", type: "INTEGER" },
      { name: "id", type: "INTEGER" },
    ],
  });
  const write = (id: number, v: string) => ({ tableName, put: { primaryKey: { p: 1, id }, attributes: { v } } });
  await db.batchWriteRow([write(2, "a"), write(3, "a")], { atomic: true });
  const rows = db.watch({ tableName, limit: 2 })[Symbol.asyncIterator]();
  await rows.next();
  // Row 4 comes behind the last one: it was never among them.
  await db.batchWriteRow([write(3, "b"), write(1, "b"), write(4, "b")], { atomic: true });
  const { value } = (await rows.next()) as { value: LiveRows };
  assert.deepEqual(
    [ids(value.rows), keys(value.changed)],
    [
      [1, 2],
      [1, 3],
    ],
  );
  await rows.return!();
  await db.close();
});

test("rows that one commit changes come together, whatever else is written meanwhile", { skip }, async () => {
  const db = await open();
  await db.createTable({
    tableName,
    primaryKey: [
      { name: "p", type: "INTEGER" },
      { name: "id", type: "INTEGER" },
    ],
    enableLocalTransaction: true,
  });
  const write = (id: number, v: number) => ({ tableName, put: { primaryKey: { p: 1, id }, attributes: { v } } });
  await db.batchWriteRow([write(1, 0), write(2, 0)], { atomic: true });
  const live = db.watch({ tableName, start: { p: 1, id: 1 }, end: { p: 1, id: 3 } });
  const torn: unknown[] = [];
  let told = 0;
  const end = live.subscribe(() => {
    told += 1;
    const [from, to] = live.getSnapshot().rows!.map((row) => row.get("v"));
    if (from !== 0 - (to as number)) torn.push([from, to]);
  });
  await until(
    () => told > 0,
    () => "no rows",
  );
  for (let amount = 1; amount <= 1000; amount++) {
    const other = db.updateRow({ tableName, primaryKey: { p: 1, id: 1 }, put: { note: amount } });
    for (let i = 0; i < amount % 30; i++) await undefined;
    await Promise.all([other, db.batchWriteRow([write(1, -amount), write(2, amount)], { atomic: true })]);
  }
  await until(
    () => live.getSnapshot().rows![1].get("v") === 1000,
    () => "not shown",
  );
  assert.equal(torn.length, 0, JSON.stringify(torn));
  assert.ok(told > 100, `told ${told} times`);
  end();
  // Transactions that change more rows than one read can have.
  const many = db.watch({ tableName, start: { p: 2, id: 0 }, end: { p: 3, id: 0 } });
  let sets = 0;
  const endMany = many.subscribe(() => {
    sets += 1;
    const seen = new Set(many.getSnapshot().rows!.map((row) => row.get("v")));
    if (seen.size > 1) torn.push([...seen]);
  });
  for (let v = 0; v < 20; v++) {
    const transaction = await db.startLocalTransaction({ tableName, partitionKey: { p: 2 } });
    await transaction.batchWriteRow(Array.from({ length: 150 }, (_, id) => ({ tableName, put: { primaryKey: { p: 2, id }, attributes: { v } } })));
    await transaction.commit();
    await until(
      () => many.getSnapshot().rows?.[0]?.get("v") === v,
      () => `not ${v}`,
    );
  }
  assert.equal(torn.length, 0, JSON.stringify(torn));
  assert.ok(sets >= 20);
  endMany();
  await db.close();
});

test("an iterator is told of any number of rows, and gathers little while nobody takes them", { skip }, async () => {
  const db = await table();
  const rows = db.watch({ tableName })[Symbol.asyncIterator]();
  await rows.next();
  const count = times(200_000, 60_000);
  await db.importRows(tableName, Array.from({ length: count }, (_, id) => ({ id, v: 0 })) as never);
  let told = 0;
  let last: LiveRows | undefined;
  while (last?.rows.length !== count) {
    ({ value: last } = (await rows.next()) as { value: LiveRows });
    told += last.changed.length;
  }
  assert.equal(told, count, "each is told once");
  await rows.return!();
  await db.close();
  const slow = await table([{ name: "id", type: "STRING" }]);
  const id = "k".repeat(1000);
  const live = slow.watch({ tableName });
  let heard = (): void => {};
  const end = live.subscribe(() => heard());
  const lazy = live[Symbol.asyncIterator]();
  const { value: first } = (await lazy.next()) as { value: LiveRows };
  const before = used();
  for (let v = 0; v < 6000; v++) {
    const isTold = new Promise<void>((resolve) => (heard = resolve));
    await slow.updateRow({ tableName, primaryKey: { id }, put: { v } });
    await isTold;
  }
  const grown = used() - before;
  assert.ok(grown < 4, `${grown} MB after 6,000 changes of one row`);
  await slow.putRow({ tableName, primaryKey: { id: "came" } });
  await slow.deleteRow({ tableName, primaryKey: { id: "came" } });
  await until(
    () => live.getSnapshot().rows!.length === 1,
    () => "not gone",
  );
  const { value } = (await lazy.next()) as { value: LiveRows };
  assert.deepEqual([first.rows.length, keys(value.changed)], [0, [id]]);
  await lazy.return!();
  end();
  await slow.close();
});

test("a row that is shown does not keep others in memory that were read with it", { skip }, async () => {
  const db = await table();
  const live = db.watch({ tableName });
  const end = live.subscribe(() => {});
  await until(
    () => live.getSnapshot().rows !== undefined,
    () => "no rows",
  );
  const hot = (round: number): object[] => Array.from({ length: 90 }, (_, id) => ({ id: 2 * id, v: `${round}`.padEnd(5000, "x") }));
  const rounds = async (from: number, write: (rows: object[]) => Promise<unknown>): Promise<number> => {
    const before = used();
    for (let round = from; round < from + 100; round++) {
      await write([...hot(round), { id: 2 * round + 1, v: round }]);
      await until(
        () => ids(live.getSnapshot().rows)!.includes(2 * round + 1),
        () => `no row of round ${round}`,
      );
    }
    return used() - before;
  };
  const put = ({ id, v }: Record<string, unknown>) => ({ tableName, put: { primaryKey: { id }, attributes: { v } } }) as never;
  const told = await rounds(0, (rows) =>
    db.batchWriteRow(
      rows.map((row) => put(row as never)),
      { atomic: false },
    ),
  );
  const read = await rounds(100, (rows) => db.importRows(tableName, rows as never));
  // The rows have 0.45 MB, and the engine keeps some; the answers together had 90 MB.
  assert.ok(told < 40 && read < 40, `${told} MB after told changes, ${read} MB after loads`);
  assert.deepEqual(
    JSON.parse(shown(live.getSnapshot().rows)).map(([row]: [object]) => row),
    (await scanned(db)).map((row) => row.toObject()),
  );
  end();
  await db.close();
});

test("rows that come among others show what a read shows: texts of any alphabet, bytes, several columns and versions", { skip }, async () => {
  const db = await table([
    { name: "a", type: "STRING" },
    { name: "b", type: "BINARY" },
  ]);
  const live = db.watch({ tableName, maxVersions: 2 });
  const end = live.subscribe(() => {});
  await until(
    () => live.getSnapshot().rows !== undefined,
    () => "no rows",
  );
  const texts = ["", "plain", "naïve", "日本語", "\u{1f600}\u{1f600}", "\uffee\0", "x".repeat(300)];
  const write = (i: number, j: number) => ({
    primaryKey: { a: texts[i], b: new Uint8Array([j, 255]) },
    attributes: { [`c${i % 3}`]: texts[j], n: i * j, d: 0.5 * j, yes: i === j, bytes: new Uint8Array([i, j]), __proto__x: texts[(i + j) % 7] },
  });
  for (const step of [3, 2, 1]) {
    // Loads read all again, and each finds some rows to be new.
    const rows = texts
      .flatMap((_, i) => texts.map((_, j) => [i, j]))
      .filter(([i, j]) => (i + j) % step === 0)
      .map(([i, j]) => write(i, j));
    await db.importRows(tableName, rows.map(({ primaryKey, attributes }) => ({ ...primaryKey, ...attributes })) as never);
    await db.putRow({ tableName, ...write(step, 1), attributes: { only: texts[4] } });
    const wanted = shown(await scanned(db));
    await until(
      () => shown(live.getSnapshot().rows) === wanted,
      () => `${shown(live.getSnapshot().rows)} instead of ${wanted}`,
    );
    assert.ok(live.getSnapshot().rows!.every((row) => row.type("a") === "STRING" && row.type("b") === "BINARY"));
  }
  end();
  await db.close();
});

test("keys whose columns have whole numbers as names are in the order of the table", { skip }, async () => {
  const db = await table(
    [
      { name: "2", type: "INTEGER" },
      { name: "1", type: "INTEGER" },
    ],
    { limits: "sdk" },
  );
  const live = db.watch({ tableName, maxVersions: 2 });
  const end = live.subscribe(() => {});
  await until(
    () => live.getSnapshot().rows !== undefined,
    () => "no rows",
  );
  for (const [a, b] of [
    [1, 9],
    [2, 5],
    [3, 1],
    [2, 3],
    [2, 4],
    [2, 1],
    [1, 20],
    [3, 0],
    [2, 5],
  ]) {
    await db.updateRow({ tableName, primaryKey: { 2: a, 1: b }, increment: { v: 1 } });
    const wanted = shown(await scanned(db));
    await until(
      () => shown(live.getSnapshot().rows) === wanted,
      () => `${shown(live.getSnapshot().rows)} instead of ${wanted}`,
    );
  }
  end();
  await db.close();
});

test("later changes of the arguments change nothing", { skip }, async () => {
  const db = await table([{ name: "b", type: "BINARY" }]);
  for (const n of [1, 2, 3]) await db.putRow({ tableName, primaryKey: { b: new Uint8Array([n]) }, attributes: { v: n, w: 10 * n } });
  const make = [
    [() => ({ tableName, primaryKey: { b: new Uint8Array([1]) } }), (it: any) => (it.primaryKey.b[0] = 2)],
    [() => ({ tableName, start: { b: new Uint8Array([2]) } }), (it: any) => (it.start.b[0] = 3)],
    [() => ({ tableName, start: { b: new Uint8Array([2]) } }), (it: any) => (it.start.b = new Uint8Array([3]))],
    [() => ({ tableName, columnsToGet: ["v"] }), (it: any) => (it.columnsToGet[0] = "w")],
    [() => ({ tableName, filter: { column: "v", comparator: "EQUAL", value: 1 } }), (it: any) => (it.filter.value = 2)],
    [() => ({ tableName, timeRange: { start: 0, end: 1e15 } }), (it: any) => (it.timeRange.end = 1)],
  ] as const;
  for (const [request, change] of make) {
    for (const early of [true, false]) {
      const [given, same] = [request(), request()];
      const [live, wanted] = [db.watch(given as never), db.watch(same as never)];
      if (early) change(given);
      const ends = [live, wanted].map((one) => one.subscribe(() => {}));
      await until(
        () => [live, wanted].every((one) => one.getSnapshot().rows !== undefined),
        () => "no rows",
      );
      if (!early) change(given);
      for (const n of [1, 2, 3]) await db.updateRow({ tableName, primaryKey: { b: new Uint8Array([n]) }, put: { x: early ? 1 : 2 } });
      await pause(20);
      assert.equal(shown(live.getSnapshot().rows), shown(wanted.getSnapshot().rows), String(change));
      ends.forEach((end) => end());
    }
  }
  await db.close();
});

test("wrong keys are refused as reads refuse them, by the name of the argument", { skip }, async () => {
  const db = await table([{ name: "id", type: "BINARY" }]);
  const gone = new Uint8Array(2);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  for (const [wrong, message] of [
    [{ primaryKey: null }, /'primaryKey' is null/],
    [{ primaryKey: new Map() }, /'primaryKey' is a Map/],
    [{ start: [] }, /'start' is an array/],
    [{ start: { id: gone } }, /column 'id' is a Uint8Array whose buffer/],
    [{ primaryKey: { id: gone } }, /column 'id' is a Uint8Array whose buffer/],
    [{ end: { id: 2n ** 64n } }, /integer 18446744073709551616 of primary key column 'id' does not fit 64 bits/],
    [{ end: { id: null } }, /primary key name: id/],
    [{ columnsToGet: new Array(70_000) }, /'columnsToGet' has 70000 entries/],
  ] as const) {
    const told = await Promise.race([
      assert
        .rejects(
          db
            .watch({ tableName, ...wrong } as never)
            [Symbol.asyncIterator]()
            .next(),
          code("OTSParameterInvalid", message),
        )
        .then(() => true),
      pause(5000),
    ]);
    assert.equal(told, true, `no answer to ${String(message)}`);
  }
  await db.close();
});

test("two queries of useRows are one only if they ask for the same", { skip }, async () => {
  const { readFileSync } = await import("node:fs");
  const text = readFileSync("dist/react.js", "utf8")
    .replace(/import ?\{([^}]*)\} ?from ?"react";/, (_, names: string) => `const {${names.replace(/ as /g, ":")}} = globalThis.hooks;`)
    .replace(/^\/\/# source.*$/m, "");
  const asked: unknown[] = [];
  Object.assign(globalThis, {
    hooks: { useMemo: (_: unknown, needs: unknown[]) => (asked.push(needs[1]), { getSnapshot() {}, subscribe() {} }), useSyncExternalStore() {} },
  });
  const { useRows } = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as { useRows(db: object, query: object): void };
  const isOne = (one: object, other: object): boolean => {
    asked.length = 0;
    for (const query of [one, other]) useRows({}, { tableName, ...query });
    return asked[0] === asked[1];
  };
  const signals = [new AbortController().signal, new AbortController().signal];
  assert.ok(isOne({ signal: signals[0] }, { signal: signals[1] }) && isOne({ primaryKey: { id: 5n } }, { primaryKey: { id: 5n } }));
  for (const [one, other] of [
    [{ primaryKey: { signal: "a" } }, { primaryKey: { signal: "b" } }],
    [{ start: { signal: 1 } }, { start: { signal: 2 } }],
    [{ filter: { value: 0 } }, { filter: { value: -0 } }],
    [{ primaryKey: { id: 2n ** 60n } }, { primaryKey: { id: 2n ** 60n + 1n } }],
    [{ primaryKey: { id: new Uint8Array([1]) } }, { primaryKey: { id: new Uint8Array([2]) } }],
  ])
    assert.ok(
      !isOne(one, other),
      JSON.stringify([one, other], (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
    );
});
