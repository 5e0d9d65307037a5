/** A database that is closed in the middle of everything. */

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { load, random, skip } from "./support/package.js";

const TABLE = "t";
const put = (db: Database, id: number, s: string): Promise<unknown> => db.putRow({ tableName: TABLE, primaryKey: { id }, attributes: { s } });

/** Reads on until there is nothing more. */
async function drain(steps: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of steps);
}

/** Work of each kind, beside puts. */
const WORK: readonly ((db: Database, below: (n: number) => number) => Promise<unknown>)[] = [
  (db) => db.flush(),
  (db) => db.compact(),
  (db) => drain(db.scan({ tableName: TABLE })),
  (db) => drain(db.watch({ tableName: TABLE })),
  (db) => drain(db.changes({ tableName: TABLE, from: "oldest" })),
  (db) => drain(db.workEvents()),
  (db, below) => db.createIndex({ tableName: TABLE, index: { indexName: `i${below(1000)}`, primaryKey: ["s"] } }),
  (db, below) => db.updateTable({ tableName: TABLE, maxVersionOffset: 1000 + below(1000) }),
  (db) =>
    db.importRows(
      TABLE,
      Array.from({ length: 200 }, (_, i) => ({ id: 20_000 + i, s: "i".repeat(100) })),
    ),
  (db) => db.deleteRange({ tableName: TABLE, start: { id: 30_000 }, end: { id: 40_000 } }),
  async (db) => new Response(await db.exportInstance()).arrayBuffer(),
  async (db) => {
    const writer = db.writer(TABLE);
    for (let id = 10_000; id < 10_050; id++) await writer.put({ primaryKey: { id }, attributes: { s: "w".repeat(100) } });
    await writer.close();
  },
];

for (const seed of [1, 2, 3, 4]) {
  test(`R4: close in the middle of everything: each call is answered, and what was acknowledged is there (seed ${seed})`, {
    skip,
    timeout: 20_000,
  }, async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tabstore-closing-"));
    t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
    const { open } = await load();
    const openHere = (): Promise<Database> =>
      open("demo", { storage: "files", path: folder, memtableBytes: 6000, partitions: { splitBytes: 8000, mergeBytes: 500 } });
    const below = random(seed);
    const db = await openHere();
    await db.createTable({
      tableName: TABLE,
      primaryKey: [{ name: "id", type: "INTEGER" }],
      stream: { enabled: true, expirationHours: 24 },
      definedColumns: [{ name: "s", type: "STRING" }],
    });
    const kept = new Map<number, string>();
    const store = async (id: number, s: string): Promise<void> => put(db, id, s).then(() => void kept.set(id, s));
    await Promise.all(Array.from({ length: 100 }, (_, id) => store(id, `before ${id}`.padEnd(100))));
    const refused = new Set<string>();
    const calls: Promise<unknown>[] = [];
    for (let step = 0; step < 40; step++) {
      // Each row is written once: so it has one value, or none where its put was refused.
      const run = below(2) === 0 ? store(100 + step, `later ${step}`.padEnd(100)) : WORK[below(WORK.length)](db, below);
      calls.push(run.catch(({ code }: { code: string }) => refused.add(code)));
      if (below(4) === 0) await new Promise((resolve) => setTimeout(resolve, below(3)));
    }
    await db.close();
    await Promise.all(calls);
    for (const code of refused) assert.ok(["Closed", "OTSParameterInvalid", "OTSObjectAlreadyExist"].includes(code), code);
    const again = await openHere();
    const found = new Map<number, unknown>();
    for await (const row of again.scan({ tableName: TABLE })) found.set(Number(row.primaryKey.id), row.get("s"));
    for (const [id, s] of kept) assert.equal(found.get(id), s, `row ${id}`);
    await again.close();
  });
}
