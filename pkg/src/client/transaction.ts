/** Transactions: their calls see each other, take effect together, and run one after another. Loaded on first use. */

import type { Client, Encode } from "./client.js";
import { checkArguments } from "../codec/check.js";
import * as encode from "../codec/requests.js";
import { readEnded } from "../codec/responses.js";
import * as decode from "../codec/response.js";
import { TabStoreError } from "../types/errors.js";
import type { Transaction, TransactionResult } from "../types/transaction.js";
import { takeOneArgument } from "./one-argument.js";
import type { Row } from "../types/row.js";
import { scan, scanPages } from "./scan.js";
import { abortReason, SIGNAL, signalOf, unlessAborted } from "./signals.js";
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

const GONE = "OTSSessionNotExist";
/** After these errors a transaction that should end goes on. */
const FOR_NOW = new Set(["OTSSessionBusy", "OTSCapacityUnitExhausted", "OTSServerBusy"]);

/** The class behind {@link Transaction}. */
class LocalTransaction implements Transaction {
  state: Transaction["state"] = "OPEN";
  /** The last call that was made, and its end. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: Client,
    readonly id: string,
    readonly consumed: Consumed,
  ) {}

  get closedBy(): TabStoreError | undefined {
    return this.client.closedBy;
  }

  putRow(request: PutRowRequest): Promise<WriteResult> {
    return this.call(encode.putRow, request, decode.writeResult, request);
  }

  updateRow(request: UpdateRowRequest): Promise<WriteResult> {
    return this.call(encode.updateRow, request, decode.writeResult, request);
  }

  deleteRow(request: DeleteRowRequest): Promise<WriteResult> {
    return this.call(encode.deleteRow, request, decode.writeResult, request);
  }

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    return this.call(encode.getRow, request, decode.getRowResult, request);
  }

  getRange(request: GetRangeRequest): Promise<GetRangeResult> {
    return this.call(encode.getRange, request, decode.getRangeResult, request, { scans: true });
  }

  scan(request: ScanRequest): AsyncIterableIterator<Row> {
    return scan(this, request);
  }

  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]> {
    return scanPages(this, request);
  }

  async batchWriteRow(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<BatchWriteResult[]> {
    // Here `atomic` is not allowed: the commit is atomic anyway.
    checkArguments(options ?? {}, SIGNAL, "batchWriteRow");
    return this.call(encode.batchWriteRow, rows, decode.batchWriteResult, options);
  }

  commit(options?: CallOptions): Promise<TransactionResult> {
    return this.end(encode.commitTransaction, "COMMITTED", options);
  }

  abort(options?: CallOptions): Promise<TransactionResult> {
    return this.end(encode.abortTransaction, "ABORTED", options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // At the end of a block there is no receiver for an error; without an answer the store ends the transaction by
    // itself.
    await this.last;
    if (this.state === "OPEN") await this.abort().catch(() => {});
  }

  private end(write: Encode<string>, state: "COMMITTED" | "ABORTED", options: CallOptions | undefined): Promise<TransactionResult> {
    return this.call(
      write,
      this.id,
      (reader) => {
        // As soon as the answer arrives, even if no caller waits for it.
        this.state = state;
        return readEnded(reader);
      },
      options,
      { ends: true },
    );
  }

  /** Makes a call after all earlier ones have ended. Its arguments are read now, so the caller may change them afterwards. */
  private call<A, T>(
    write: Encode<A>,
    argument: A,
    read: decode.Decode<T>,
    options: CallOptions | undefined,
    { ends = false, scans = false } = {},
  ): Promise<T> {
    let signal: AbortSignal | undefined;
    let prepared: ReturnType<Client["prepare"]>;
    try {
      signal = signalOf(options);
      prepared = this.client.prepare(write, argument, ends ? undefined : this.id);
    } catch (error) {
      return Promise.reject(error);
    }
    const mine = this.last.then(async () => {
      if (signal?.aborted) throw abortReason(signal);
      if (this.state !== "OPEN")
        throw new TabStoreError({
          code: GONE,
          status: 404,
          retryable: false,
          message: `Session not exist or may be timeout. The transaction is ${this.state.toLowerCase()}.`,
        });
      try {
        return await this.client.send(prepared, read, signal, scans);
      } catch (error) {
        // A failed commit has stored nothing, and ends the transaction too, unless it was refused for now. A transaction
        // that is over keeps its state: an unawaited commit may have been answered meanwhile.
        if (this.state === "OPEN" && error instanceof TabStoreError && (ends ? !FOR_NOW.has(error.code) : error.code === GONE)) this.state = "ABORTED";
        throw error;
      }
    });
    this.last = mine.catch(() => {});
    return unlessAborted(mine, signal);
  }
}

takeOneArgument(LocalTransaction.prototype, ["scan", "scanPages"]);

/** The transaction that the engine has started. */
export function makeTransaction(client: Client, id: string, consumed: Consumed): Transaction {
  return new LocalTransaction(client, id, consumed);
}
