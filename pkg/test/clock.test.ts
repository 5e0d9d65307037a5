/** A clock function with so many requests that some are held. A file of its own: the engine's memory never shrinks. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database, Row } from "../src/index.js";
import { open, skip } from "./support/package.js";

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;
const REQUESTS = 600;
const text = "x".repeat(100_000);

/** An instance with a table, and so many puts on their way that most of them are held. */
async function busy(clock: () => number): Promise<{ db: Database; puts: Promise<unknown>[] }> {
  const db = await open({ clock, worker: false, retry: false });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const puts = Array.from({ length: REQUESTS }, (_, id) => db.putRow({ tableName: "t", primaryKey: { id: id % 5 }, attributes: { text } }));
  return { db, puts };
}

test("V10: a clock function that runs, or stands still, starts no more requests than there is memory for", { skip }, async () => {
  let calls = 0;
  for (const clock of [() => NOW, () => NOW + calls++]) {
    const { db, puts } = await busy(clock);
    await Promise.all(puts);
    const { wasmMemoryBytes } = await db.metrics();
    assert.ok(wasmMemoryBytes < 1.5 * REQUESTS * text.length, `${REQUESTS * text.length} bytes of requests take ${wasmMemoryBytes}`);
    await db.close();
  }
});

test("V10: requests from before a travel in time are done at the time before, held ones too", { skip }, async () => {
  let now = NOW;
  const { db, puts } = await busy(() => now);
  // The puts have reached the engine, and are not stored yet.
  await Promise.resolve();
  now += DAY;
  const later = db.putRow({ tableName: "t", primaryKey: { id: 9 }, attributes: { text: "later" } });
  await Promise.all([...puts, later]);
  const rows: Row[] = [];
  for await (const row of db.scan({ tableName: "t" })) rows.push(row);
  const days = rows.map((row) => Math.floor((row.version("text")! - NOW) / DAY));
  assert.deepEqual(days, [0, 0, 0, 0, 0, 1]);
  await db.close();
});
