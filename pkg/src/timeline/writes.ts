/** Rows of a timeline table into the database: batches with a result for each row, and rows without waiting. */

import type { Attributes, CallOptions, InputPrimaryKey, PrimaryKey, PutRow, RowWriter, TabStoreError } from "../index.js";
import type { Host } from "./check.js";
import { bytesOf } from "./fields.js";
import type { SequenceId, StoreResult } from "./types.js";

/** The limits of a batch. Sizes are counted a little too high. */
const BATCH_ROWS = 200;
const BATCH_BYTES = 4_000_000;

/** A row to store, or why it cannot be one. */
export type NewRow = { readonly primaryKey: InputPrimaryKey; readonly attributes: Attributes } | TabStoreError;

/** Puts rows in batches, so many at once, and gives a result for each row. One at once keeps their order. */
export async function putAll(
  host: Host,
  tableName: string,
  rows: readonly NewRow[],
  atOnce: number,
  idOf: (key: PrimaryKey) => SequenceId,
  { signal }: CallOptions,
): Promise<StoreResult[]> {
  const { db } = host;
  const results: StoreResult[] = [];
  const fail = (index: number, error: unknown): void => {
    // The reason of the caller's signal ends all of it.
    if (!host.isFailure(error)) throw error;
    results[index] = { ok: false, error };
  };
  const send = async (batch: Batch): Promise<void> => {
    try {
      const answers = await db.batchWriteRow(
        batch.map(({ put }) => ({ tableName, put })),
        { signal },
      );
      answers.forEach((answer, at) => {
        results[batch[at].index] = answer.ok ? { ok: true, sequenceId: idOf(answer.row!.primaryKey) } : { ok: false, error: answer.error };
      });
    } catch (error) {
      // One illegal row makes the database refuse a batch as a whole, and store nothing of it: each goes alone.
      if (batch.length === 1 || !host.isFailure(error, "OTSParameterInvalid")) {
        for (const { index } of batch) fail(index, error);
        return;
      }
      await Promise.all(
        batch.map(({ put, index }) =>
          db.putRow({ tableName, ...put, signal }).then(
            ({ row }) => (results[index] = { ok: true, sequenceId: idOf(row!.primaryKey) }),
            (reason: unknown) => fail(index, reason),
          ),
        ),
      );
    }
  };
  const sent: Promise<void>[] = [];
  for (const batch of batches(host, rows, fail)) {
    sent.push(send(batch));
    if (sent.length === atOnce) await Promise.all(sent.splice(0));
  }
  await Promise.all(sent);
  return results;
}

/** Rows for one call, with their places. */
type Batch = { readonly put: PutRow; readonly index: number }[];

/** The rows in batches of the limits. */
function* batches(host: Host, rows: readonly NewRow[], fail: (index: number, error: unknown) => void): Generator<Batch, void, undefined> {
  let batch: Batch = [];
  let bytes = 0;
  for (const [index, row] of rows.entries()) {
    if (host.isFailure(row)) {
      fail(index, row);
      continue;
    }
    const size = bytesOf(row.primaryKey) + bytesOf(row.attributes);
    if (batch.length === BATCH_ROWS || (batch.length > 0 && bytes + size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push({ put: { ...row, returnContent: "PRIMARY_KEY" }, index });
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Rows that nobody waits for. Each flush ends a writer, which tells what it could not store. */
export class Background {
  private writer: RowWriter | undefined;
  /** Writers that end. */
  private readonly ending = new Set<Promise<unknown>>();
  private closed = false;

  constructor(
    private readonly host: Host,
    private readonly tableName: string,
  ) {}

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
