/** Streams and consumers for tests. */

import assert from "node:assert/strict";
import type { ConsumerBatch } from "../../src/types/consumer.js";
import type { Database } from "../../src/index.js";
import { open } from "./package.js";

export const KEY = [{ name: "id", type: "INTEGER" as const }];
export const put = (id: number, v: unknown = id) => ({ tableName: "t", primaryKey: { id }, attributes: { v } }) as never;

export async function streamed(options: object = {}): Promise<Database> {
  const db = await open(options);
  await db.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 3, stream: { enabled: true, expirationHours: 24 } });
  return db;
}

/** Takes batches until it has so many records, and checkpoints each. */
export async function taken(group: AsyncIterable<ConsumerBatch>, most: number): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { records, phase, checkpoint } of group) {
    all.push(...records.map(({ type, primaryKey }) => [phase, type, primaryKey.id]));
    await checkpoint();
    if (all.length >= most) break;
  }
  return all;
}

export const next = async (consumer: AsyncIterator<ConsumerBatch>): Promise<ConsumerBatch> => {
  const result = await consumer.next();
  assert.ok(!result.done, "a batch");
  return result.value;
};

/** Writes until the table has several partitions. */
export async function cut(db: Database, rounds = 4): Promise<void> {
  const pad = (id: number): string => Array.from({ length: 60 }, (_, i) => ((id * 7919 + i * 104_729) % 1_000_003).toString(36)).join("");
  for (let round = 0; round < rounds; round++) {
    await db.batchWriteRow(
      Array.from({ length: 100 }, (_, id) => ({ tableName: "t", put: { primaryKey: { id }, attributes: { v: round, pad: pad(id + 100 * round) } } })),
    );
    await db.flush();
    await db.compact();
  }
  await db.putRow(put(0));
}
