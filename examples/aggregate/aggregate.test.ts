/** The totals equal a fresh count, whatever is written and whenever the counting is stopped. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { test } from "node:test";
import type { Database } from "tabstore";

import { openThings, random, restarted, TABLE, write } from "../support/writes.ts";
import { aggregate, countAll, type Totals } from "./aggregate.ts";

const QUESTION = { tableName: TABLE, group: "group", sum: "amount" };
const KEPT = { tableName: "kept", primaryKey: { name: "by group" } };

async function open(begun: number): Promise<Database> {
  const db = await openThings(1, begun, ["group", "amount"]);
  await db.createTable({ tableName: "kept", primaryKey: [{ name: "name", type: "STRING" }] });
  return db;
}

/** The totals by a plain count. */
async function counted(db: Database): Promise<Totals> {
  const totals: Totals = new Map();
  for await (const row of db.scan({ tableName: TABLE })) {
    const name = row.get("group") as string | undefined;
    if (name === undefined) continue;
    const { count, sum } = totals.get(name) ?? { count: 0, sum: 0 };
    totals.set(name, { count: count + 1, sum: sum + ((row.get("amount") as number | undefined) ?? 0) });
  }
  return totals;
}

async function stored(db: Database): Promise<Totals> {
  const { row } = await db.getRow(KEPT);
  return new Map(JSON.parse((row?.get("totals") as string | undefined) ?? "[]") as [string, { count: number; sum: number }][]);
}

test("ST4: an aggregate that is stopped and goes on at random equals a fresh count", async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const db = await open(seed % 2 === 0 ? 300 : 0);
    await restarted(
      db,
      seed,
      {},
      (signal) => aggregate(db, QUESTION, KEPT, signal),
      async () => isDeepStrictEqual(await stored(db), await counted(db)),
    );
    assert.deepEqual(await stored(db), await counted(db), `seed ${seed}`);
    assert.ok((await stored(db)).has("red"));
    await db.close();
  }
});

test("ST4: rows that change while they are counted first are counted once", async () => {
  const db = await open(300);
  const writing = write(db, random(3), 150);
  for (let round = 0; round < 5; round++) await countAll(db, QUESTION);
  await writing;
  assert.deepEqual((await countAll(db, QUESTION)).totals, await counted(db));
  await db.close();
});

test("ST4: an aggregate goes on behind its stored token and reads no row again; it counts anew if changes have expired", async () => {
  const db = await open(20);
  const put = (id: number) => db.putRow({ tableName: TABLE, primaryKey: { kind: "k", id }, attributes: { group: "new", amount: 2 } });
  const first = async (): Promise<Totals> => {
    for await (const totals of aggregate(db, QUESTION, KEPT)) return totals;
    throw new Error("It has given nothing.");
  };
  await put(1);
  assert.deepEqual((await first()).get("new"), { count: 1, sum: 2 });
  // The stored totals are taken as they are.
  const { row } = await db.getRow(KEPT);
  await db.updateRow({ ...KEPT, put: { totals: JSON.stringify([["new", { count: 7, sum: 14 }]]) } });
  assert.deepEqual([...(await first())], [["new", { count: 7, sum: 14 }]]);
  await db.updateRow({ ...KEPT, put: { totals: row?.get("totals") as string } });
  await put(2);
  await db.setClock(1_700_000_000_000 + 5 * 3_600_000);
  await put(3);
  for await (const totals of aggregate(db, QUESTION, KEPT)) if (totals.get("new")?.count === 3) break;
  assert.deepEqual(await stored(db), await counted(db));
  await db.close();
});
