/** Capacity units, limits, prices and access keys, on the real engine. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { code, open, skip } from "./support/package.js";

const NOW = 1_700_000_000_000;
const primaryKey = [{ name: "id", type: "INTEGER" }, { name: "at", type: "INTEGER" }] as const;

test("C2, C3: what is used above the reserved units is on demand, by second and by hour, at the given prices", { skip }, async () => {
  const db = await open({ clock: { now: NOW }, prices: { reserved: { read: 1, write: 2 }, onDemand: { read: 10_000, write: 20_000 } } });
  await db.createTable({ tableName: "t", primaryKey, reservedThroughput: { read: 100, write: 0 } });
  const read = async (times: number): Promise<void> => void (await Promise.all(Array.from({ length: times }, () => db.getRow({ tableName: "t", primaryKey: { id: 1, at: 1 } }))));
  for (const times of [120, 95, 110]) {
    await read(times);
    await db.setClock((await db.metrics()).now + 1000);
  }
  const seconds = await db.computeConsumed({ tableName: "t", period: "second", start: NOW, end: NOW + 3000 });
  assert.deepEqual(seconds.periods.map(({ start, reserved, onDemand, consumed }) => [start, reserved.read, onDemand.read, consumed.read]), [[NOW, 100, 20, 120], [NOW + 1000, 100, 0, 95], [NOW + 2000, 100, 10, 110]]);
  assert.equal(seconds.total.onDemand.read, 30);
  const hour = await db.computeConsumed({ tableName: "t" });
  assert.deepEqual([hour.periods.length, hour.total.onDemand.read, hour.total.consumed.read], [1, 30, 325]);
  assert.ok(hour.total.cost >= 30);
  assert.ok((await db.computeConsumed({ prices: { onDemand: { read: 0 } } })).total.cost < hour.total.cost);
  await assert.rejects(db.computeConsumed({ period: "day" as never }), code("OTSParameterInvalid", /'period'/));
  await db.close();
});
