/// <reference lib="esnext.disposable" preserve="true" />
/** The types of local transactions. */

import type {
  Consumed,
  DeleteRowRequest,
  GetRangeRequest,
  GetRowRequest,
  GetRowResult,
  GetRangeResult,
  PutRowRequest,
  ScanRequest,
  UpdateRowRequest,
  WriteResult,
  BatchWriteItem,
  CallOptions,
  BatchWriteResult,
} from "./rows.js";
import type { Row } from "./row.js";

/** The result of ending a transaction. */
export interface TransactionResult {
  /** Capacity units it cost: one write unit. */
  readonly consumed: Consumed;
}

/**
 * Reads and writes of rows that share a partition key. They see each other. Others see nothing of them before {@link
 * Transaction.commit}; then all take effect in one step [R7].
 *
 * While it is open no other write reaches rows of the partition key (`OTSRowOperationConflict`, tried again automatically
 * for some seconds); other reads see the earlier state. Calls run one after another, in call order, so you need not await
 * each of them. It ends by itself 60 s after it began, and may write 4 MB.
 *
 * Rejections beside those of the same calls of {@link Database}: `OTSSessionNotExist` when it has ended,
 * `OTSDataOutOfRange` for a row of another partition key or table, `OTSOutOfTransactionDataSizeLimit` beyond 4 MB.
 *
 * @example
 * ```ts
 * await using tx = await db.startLocalTransaction({ tableName: "account", partitionKey: { owner: "ann" } });
 * const { row } = await tx.getRow({ tableName: "account", primaryKey: { owner: "ann", kind: "cash" } });
 * const balance = row?.get("balance");                // undefined: no such row, or no such column
 * if (typeof balance === "number" && balance >= 10) {
 *   await Promise.all([
 *     tx.updateRow({ tableName: "account", primaryKey: { owner: "ann", kind: "cash" }, increment: { balance: -10 } }),
 *     tx.updateRow({ tableName: "account", primaryKey: { owner: "ann", kind: "savings" }, increment: { balance: 10 } }) ]);
 *   await tx.commit();
 * }                                                   // not committed: aborted at the end of the block
 * ```
 */
export interface Transaction {
  /** As {@link Database.putRow}, within the partition key. */
  putRow(request: PutRowRequest): Promise<WriteResult>;
  /** As {@link Database.updateRow}, within the partition key. */
  updateRow(request: UpdateRowRequest): Promise<WriteResult>;
  /** As {@link Database.deleteRow}, within the partition key. */
  deleteRow(request: DeleteRowRequest): Promise<WriteResult>;
  /** As {@link Database.getRow}, without a trace. */
  getRow(request: GetRowRequest): Promise<GetRowResult>;
  /** Its id. */
  readonly id: string;
  /** Its state. Also `"ABORTED"` when the store has ended it, once a call has noticed that. */
  readonly state: "OPEN" | "COMMITTED" | "ABORTED";
  /** Capacity units of its start: one write unit. */
  readonly consumed: Consumed;
  /** As {@link Database.getRange}, within the partition key. */
  getRange(request: GetRangeRequest): Promise<GetRangeResult>;
  /** As {@link Database.scan}, within the partition key: `start` and `end` must name it. */
  scan(request: ScanRequest): AsyncIterableIterator<Row>;
  /** As {@link Database.scanPages}, within the partition key. */
  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]>;
  /** As {@link Database.batchWriteRow}; refused rows are not tried again. */
  batchWriteRow(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<BatchWriteResult[]>;
  /**
   * Commits all writes, after all earlier calls have ended. If it rejects, nothing took effect. It also rejects with
   * `OTSSessionNotExist` if the transaction has deleted a version and `maxVersions` was lowered since.
   */
  commit(options?: CallOptions): Promise<TransactionResult>;
  /** Drops all writes, after all earlier calls have ended. Later calls reject. */
  abort(options?: CallOptions): Promise<TransactionResult>;
  /** `await using` aborts it at the end of the block if it is open then. */
  [Symbol.asyncDispose](): Promise<void>;
}
