/** Rows of a timeline table into the database: batches with a result for each row, and rows without waiting. */

import type { Attributes, BatchWriteItem, CallOptions, InputPrimaryKey, PrimaryKey, RowWriter, TabStoreError } from "../index.js";
import type { Host } from "./check.js";
import { bytesOf } from "./fields.js";
import type { SequenceId, StoreResult } from "./types.js";

/** The limits of a batch. Sizes are counted a little too high. */
const BATCH_ROWS = 200;
const BATCH_BYTES = 4_000_000;

/** A row to store, or why it cannot be one. */
export type NewRow = { readonly primaryKey: InputPrimaryKey; readonly attributes: Attributes } | TabStoreError;

/** Puts rows in order, in batches, and gives a result for each. */
export async function putAll(host: Host, tableName: string, rows: readonly NewRow[], idOf: (key: PrimaryKey) => SequenceId, { signal }: CallOptions): Promise<StoreResult[]> {
  const { db } = host;
  const results: StoreResult[] = [];
  let batch: { put: BatchWriteItem["put"] & object; index: number }[] = [];
  let bytes = 0;
  const fail = (index: number, error: unknown): void => {
    // The reason of the caller's signal ends all of it.
    if (!host.isFailure(error)) throw error;
    results[index] = { ok: false, error };
  };
  const send = async (): Promise<void> => {
    const sent = batch;
    batch = [];
    bytes = 0;
    if (sent.length === 0) return;
    try {
      const answers = await db.batchWriteRow(sent.map(({ put }) => ({ tableName, put })), { signal });
      answers.forEach((answer, at) => {
        results[sent[at].index] = answer.ok ? { ok: true, sequenceId: idOf(answer.row!.primaryKey) } : { ok: false, error: answer.error };
      });
    } catch (error) {
      // One illegal row makes the database refuse a batch as a whole, and store nothing of it: each goes alone.
      if (sent.length === 1 || !host.isFailure(error, "OTSParameterInvalid")) {
        for (const { index } of sent) fail(index, error);
        return;
      }
      await Promise.all(sent.map(({ put, index }) => db.putRow({ tableName, ...put, signal }).then(
        ({ row }) => (results[index] = { ok: true, sequenceId: idOf(row!.primaryKey) }),
        (reason: unknown) => fail(index, reason),
      )));
    }
  };
  for (const [index, row] of rows.entries()) {
    if (host.isFailure(row)) {
      results[index] = { ok: false, error: row };
      continue;
    }
    const size = bytesOf(row.primaryKey) + bytesOf(row.attributes);
    if (batch.length === BATCH_ROWS || bytes + size > BATCH_BYTES) await send();
    batch.push({ put: { ...row, returnContent: "PRIMARY_KEY" }, index });
    bytes += size;
  }
  await send();
  return results;
}

/** Rows that nobody waits for. Each flush ends a writer, which tells what it could not store. */
export class Background {
  private writer: RowWriter | undefined;
  /** Writers that end. */
  private readonly ending = new Set<Promise<unknown>>();
  private closed = false;

  constructor(private readonly host: Host, private readonly tableName: string) {}

  put(row: Exclude<NewRow, TabStoreError>): undefined | Promise<void> {
    if (this.closed) throw this.host.error("Closed", `The timeline store '${this.tableName}' is closed.`);
    this.writer ??= this.host.db.writer(this.tableName);
    return this.writer.put(row);
  }

  async flush(): Promise<void> {
    const { writer, ending } = this;
    // Before its own rows those of the flushes under way: their callers are told too.
    const all: Promise<unknown>[] = [...ending];
    if (writer !== undefined) {
      this.writer = undefined;
      const end = writer.close();
      all.unshift(end);
      ending.add(end);
      const forget = (): boolean => ending.delete(end);
      end.then(forget, forget);
    }
    for (const outcome of await Promise.allSettled(all)) if (outcome.status === "rejected") throw outcome.reason;
  }

  close(): Promise<void> {
    this.closed = true;
    return this.flush();
  }
}
