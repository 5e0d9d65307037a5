/** Local transactions of the service. Loaded on first use. */

import { takeOneArgument } from "../client/one-argument.js";
import { TabStoreError } from "../types/errors.js";
import type { Row } from "../types/row.js";
import type {
  BatchWriteItem,
  BatchWriteResult,
  CallOptions,
  Consumed,
  DeleteRowRequest,
  GetRangeRequest,
  GetRangeResult,
  GetRowRequest,
  GetRowResult,
  PutRowRequest,
  ScanRequest,
  UpdateRowRequest,
  WriteResult,
} from "../types/rows.js";
import type { Transaction, TransactionResult } from "../types/transaction.js";
import type { Connection } from "./connection.js";
import { damaged } from "./errors.js";
import { Nothing, StartTransaction, TransactionId } from "./messages.js";
import { type Cell, writeRow } from "./plain-buffer.js";
import { mayRepeat } from "./retry.js";
import type { Order, RowCalls } from "./row-calls.js";

const GONE = "OTSSessionNotExist";

/** What starting, committing and aborting a transaction costs. The service charges it, and does not tell it in the answer. */
const COST: Consumed = /* @__PURE__ */ Object.freeze({ read: 0, write: 1 });

/** Makes the calls of a transaction, whose operations `order` keeps in order. */
export type MakeCalls = (order: Order, id: string) => RowCalls;

/** The class behind {@link Transaction}. */
class CloudTransaction implements Transaction {
  state: Transaction["state"] = "OPEN";
  readonly consumed = COST;
  private readonly calls: RowCalls;
  /** The last call that was made, and its end. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly connection: Connection,
    readonly id: string,
    make: MakeCalls,
  ) {
    this.calls = make((_rows, _writes, work) => this.behind(work, false), id);
  }

  putRow(request: PutRowRequest): Promise<WriteResult> {
    return this.calls.putRow(request);
  }

  updateRow(request: UpdateRowRequest): Promise<WriteResult> {
    return this.calls.updateRow(request);
  }

  deleteRow(request: DeleteRowRequest): Promise<WriteResult> {
    return this.calls.deleteRow(request);
  }

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    return this.calls.getRow(request);
  }

  getRange(request: GetRangeRequest): Promise<GetRangeResult> {
    return this.calls.getRange(request);
  }

  scan(request: ScanRequest): AsyncIterableIterator<Row> {
    return this.calls.scan(request);
  }

  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]> {
    return this.calls.scanPages(request);
  }

  batchWriteRow(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<BatchWriteResult[]> {
    return this.calls.batchWriteRow(rows, options);
  }

  commit(options?: CallOptions): Promise<TransactionResult> {
    return this.end("CommitTransaction", "COMMITTED", options);
  }

  abort(options?: CallOptions): Promise<TransactionResult> {
    return this.end("AbortTransaction", "ABORTED", options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // At the end of a block there is no receiver for an error; without an answer the service ends the transaction by itself.
    await this.last;
    if (this.state === "OPEN") await this.abort().catch(() => {});
  }

  private end(operation: string, state: "COMMITTED" | "ABORTED", options: CallOptions | undefined): Promise<TransactionResult> {
    const { connection, id } = this;
    return connection.call(
      options,
      (signal) => () =>
        this.behind(async () => {
          await connection.service.call(operation, TransactionId, { transactionId: id }, Nothing, signal);
          this.state = state;
          return { consumed: COST };
        }, true),
    );
  }

  /** Does work behind all earlier calls. */
  private behind<T>(work: () => Promise<T>, ends: boolean): Promise<T> {
    const mine = this.last.then(async () => {
      if (this.state !== "OPEN")
        throw new TabStoreError({
          code: GONE,
          status: 404,
          retryable: false,
          message: `Session not exist or may be timeout. The transaction is ${this.state.toLowerCase()}.`,
        });
      try {
        return await work();
      } catch (error) {
        // A commit that was refused for good has stored nothing, and ends the transaction too. One that was refused for now, or whose
        // outcome is unknown, does not.
        const hasEnded = error instanceof TabStoreError && (ends ? !mayRepeat(error, true) : error.code === GONE);
        if (this.state === "OPEN" && hasEnded) this.state = "ABORTED";
        throw error;
      }
    });
    this.last = mine.catch(() => {});
    return mine;
  }
}

takeOneArgument(CloudTransaction.prototype, ["scan", "scanPages"]);

/** The implementation of {@link Database.startLocalTransaction}. */
export async function startTransaction(
  connection: Connection,
  tableName: string,
  key: readonly Cell[],
  signal: AbortSignal | undefined,
  make: MakeCalls,
): Promise<Transaction> {
  const request = { tableName, key: writeRow(key) };
  const { transactionId } = await connection.service.call("StartLocalTransaction", StartTransaction, request, TransactionId, signal);
  if (transactionId === undefined) throw damaged("it has no transaction");
  return new CloudTransaction(connection, transactionId, make);
}
