/** Reads and writes of many rows in one call. Loaded on first use. */

import { TabStoreError, toError, toRecord } from "../types/errors.js";
import type { BatchGetResult, BatchWriteResult, WriteResult } from "../types/rows.js";
import type { Connection } from "./connection.js";
import { damaged, ofWrite, unsupported } from "./errors.js";
import { BatchAnswer, BatchGetRow, BatchWriteRow } from "./messages.js";
import { type Cell, variantBytes } from "./plain-buffer.js";
import type { Fields } from "./protobuf.js";
import { batchGetRequest, inOrder, type KeyNames, type TableRead, type Write, writeInBatch } from "./requests.js";
import { consumedOf, rowOf, writtenRow } from "./answers.js";
import { pause, serviceError } from "./service.js";

type RowOfAnswer = NonNullable<NonNullable<NonNullable<Fields<typeof BatchAnswer>["tables"]>[number]["rows"]>[number]>;

/** The statuses of codes, for errors that come without one. */
const STATUS: Readonly<Record<string, number>> = {
  OTSConditionCheckFail: 403,
  OTSQuotaExhausted: 403,
  OTSNotEnoughCapacityUnit: 403,
  OTSCapacityUnitExhausted: 403,
  OTSNoPermissionAccess: 403,
  OTSObjectNotExist: 404,
  OTSTableNotReady: 404,
  OTSSessionNotExist: 404,
  OTSRowOperationConflict: 409,
  OTSObjectAlreadyExist: 409,
  OTSInternalServerError: 500,
  OTSServerBusy: 503,
  OTSPartitionUnavailable: 503,
  OTSTimeout: 503,
  OTSServerUnavailable: 503,
};

/** The error of a row of a batch. */
function failure(connection: Connection, { error = {} }: RowOfAnswer, tableName: string, repeatable: boolean): TabStoreError {
  if (error.code === "OTSInvalidPK" || error.code === "OTSObjectNotExist") connection.forget(tableName);
  return serviceError(error, STATUS[error.code!] ?? 400, repeatable);
}

/** Reads rows, and those again that were refused for now. */
export async function readAll(connection: Connection, reads: readonly TableRead[], signal: AbortSignal | undefined): Promise<BatchGetResult[][]> {
  const results: BatchGetResult[][] = reads.map(() => []);
  let left = reads.map(({ keys }) => keys.map((_, place) => place));
  for (let tries = 1; ; tries++) {
    const asked = reads.map((read, at) => ({ ...read, keys: left[at].map((place) => read.keys[place]) }));
    const answers = await readOnce(connection, asked, signal);
    left.forEach((places, at) => places.forEach((place, i) => (results[at][place] = answers[at][i])));
    let delay: number | undefined;
    left = left.map((places, at) =>
      places.filter((place) => {
        const { error } = results[at][place];
        const wait = error && connection.service.retry.delay(error, tries, true);
        delay ??= wait;
        return wait !== undefined;
      }),
    );
    if (delay === undefined) return results;
    await pause(delay, signal);
  }
}

async function readOnce(connection: Connection, reads: readonly TableRead[], signal: AbortSignal | undefined): Promise<BatchGetResult[][]> {
  const names = await Promise.all(reads.map(({ tableName }) => connection.keyNames(tableName, signal)));
  const request = { tables: reads.map((read, at) => batchGetRequest(read, names[at])) };
  const { tables = [] } = await connection.service.call("BatchGetRow", BatchGetRow, request, BatchAnswer, signal);
  return reads.map(({ keys, tableName }, at) => {
    const rows = tables[at]?.rows ?? [];
    if (rows.length !== keys.length) throw damaged(`it has ${rows.length} results for ${keys.length} keys of the table '${tableName}'`);
    return rows.map(
      (row): BatchGetResult =>
        row.isOk
          ? { ok: true, row: rowOf(row.row, connection), consumed: consumedOf(row.consumed) }
          : { ok: false, error: failure(connection, row, tableName, true) },
    );
  });
}

/** How rows are written. */
interface Writing {
  readonly signal: AbortSignal | undefined;
  /** All of them or none. */
  readonly isAtomic: boolean;
  readonly transactionId: string | undefined;
}

/** Writes rows, and those again that were refused for now. `ids` are the same text for the same row. */
export async function writeAll(connection: Connection, writes: readonly Write[], ids: readonly string[], writing: Writing): Promise<BatchWriteResult[]> {
  const { signal, isAtomic, transactionId } = writing;
  const results: BatchWriteResult[] = [];
  let left = writes.map((_, i) => i);
  for (let tries = 1; ; tries++) {
    const asked = left.map((i) => writes[i]);
    const answers = await writeOnce(connection, asked, writing);
    left.forEach((i, place) => (results[i] = answers[place]));
    // What a later row of the batch has changed must not be undone by an earlier one.
    const isLate = (i: number): boolean => results.some(({ ok }, j) => j > i && ok && ids[j] === ids[i]);
    let delay: number | undefined;
    left = left.filter((i) => {
      const { error } = results[i];
      const wait = error === undefined || isLate(i) ? undefined : connection.service.retry.delay(error, tries, false);
      delay ??= wait;
      return wait !== undefined;
    });
    if (delay === undefined || transactionId !== undefined || (isAtomic && left.length < writes.length)) return results;
    await pause(delay, signal);
  }
}

/** Statuses with which the service refuses a batch for one of its rows. */
const OF_A_ROW = [400, 413];

/**
 * Writes different rows, in pieces if the service refuses all of them for one. The caller holds all rows meanwhile, so that a later
 * write of a row comes behind the pieces too. One piece after the other: a piece is no more than one request at a time.
 */
export async function writeEach(connection: Connection, writes: readonly Write[], ids: readonly string[]): Promise<BatchWriteResult[]> {
  try {
    return await writeAll(connection, writes, ids, { signal: undefined, isAtomic: false, transactionId: undefined });
  } catch (thrown) {
    const error = toError(thrown);
    if (writes.length < 2 || !OF_A_ROW.includes(error.status)) return writes.map(() => ({ ok: false, error }));
    const half = writes.length >> 1;
    const first = await writeEach(connection, writes.slice(0, half), ids.slice(0, half));
    return [...first, ...(await writeEach(connection, writes.slice(half), ids.slice(half)))];
  }
}

async function writeOnce(connection: Connection, writes: readonly Write[], { signal, isAtomic, transactionId }: Writing): Promise<BatchWriteResult[]> {
  const byTable = new Map<string, number[]>();
  writes.forEach(({ tableName }, i) => byTable.set(tableName, [...(byTable.get(tableName) ?? []), i]));
  const groups = [...byTable];
  const names = await Promise.all(groups.map(([tableName]) => connection.keyNames(tableName, signal)));
  const request = {
    tables: groups.map(([tableName, places], at) => ({ tableName, rows: places.map((i) => writeInBatch(writes[i], names[at])) })),
    transactionId,
    isAtomic: isAtomic || undefined,
  };
  const { tables = [] } = await connection.service.call("BatchWriteRow", BatchWriteRow, request, BatchAnswer, signal);
  const results: BatchWriteResult[] = [];
  groups.forEach(([tableName, places], at) => {
    const rows = tables[at]?.rows ?? [];
    if (rows.length !== places.length) throw ofWrite(damaged(`it has ${rows.length} results for ${places.length} rows of the table '${tableName}'`));
    rows.forEach((row, i) => {
      results[places[i]] = row.isOk
        ? { ok: true, consumed: consumedOf(row.consumed), row: writtenRow(row.row, connection) }
        : { ok: false, error: failure(connection, row, tableName, false) };
    });
  });
  return results;
}

/** The value of the partition key, as text. */
const partitionOf = (key: readonly Cell[], names: KeyNames): string => String(variantBytes(inOrder(key, names)[0]!.variant!));

/** Refuses rows that the service cannot write in one step. */
async function checkPartition(connection: Connection, writes: readonly Write[], signal: AbortSignal | undefined): Promise<void> {
  const [first] = writes;
  if (first === undefined) return;
  const names = await connection.keyNames(first.tableName, signal);
  const partition = partitionOf(first.key, names);
  if (writes.every(({ tableName, key }) => tableName === first.tableName && partitionOf(key, names) === partition)) return;
  throw unsupported(
    "One step over several tables or partition keys",
    "The service writes rows in one step only if they are of one table and share a partition key. Choose keys that way, or make each row's write safe to repeat.",
  );
}

/** Writes rows of one partition key: all of them, or none. Throws the error of the row that failed. */
export async function atomic(
  connection: Connection,
  writes: readonly Write[],
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<WriteResult[]> {
  await checkPartition(connection, writes, signal);
  const results = await writeAll(connection, writes, ids, { signal, isAtomic: true, transactionId: undefined });
  const isAlone = results.filter(({ ok }) => !ok).length === 1;
  return results.map((result, i) => {
    if (result.ok) return result;
    const { error } = result;
    // If one row alone has failed, the others are not to blame.
    throw isAlone && i > 0 ? new TabStoreError({ ...toRecord(error), message: `Row ${i} of the atomic batch failed: ${error.message}` }) : error;
  });
}
