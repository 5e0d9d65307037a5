/** Local transactions of the service. Loaded on first use. */

import { TabStoreError } from "../types/errors.js";
import type { CallOptions, Consumed } from "../types/rows.js";
import type { Transaction, TransactionResult } from "../types/transaction.js";
import type { Connection } from "./connection.js";
import { Nothing, TransactionId } from "./messages.js";
import { RowCalls } from "./row-calls.js";

const GONE = "OTSSessionNotExist";
/** After these errors a transaction that should end may go on: it was refused for now, or it is unknown whether it has ended. */
const MAY_GO_ON = new Set(["OTSSessionBusy", "OTSCapacityUnitExhausted", "OTSServerBusy", "OTSTimeout", "OTSInternalServerError", "Unavailable"]);

/** What starting, committing and aborting a transaction costs. The service charges it, and does not tell it in the answer. */
export const COST: Consumed = /* @__PURE__ */ Object.freeze({ read: 0, write: 1 });

/** The class behind {@link Transaction}. */
class CloudTransaction extends RowCalls implements Transaction {
  state: Transaction["state"] = "OPEN";
  readonly consumed = COST;
  /** The last call that was made, and its end. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    connection: Connection,
    readonly id: string,
  ) {
    super(connection, (_rows, _writes, work) => this.behind(work, false), id);
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
        // A commit that was refused for good has stored nothing, and ends the transaction too.
        const code = error instanceof TabStoreError ? error.code : undefined;
        if (this.state === "OPEN" && code !== undefined && (ends ? !MAY_GO_ON.has(code) : code === GONE)) this.state = "ABORTED";
        throw error;
      }
    });
    this.last = mine.catch(() => {});
    return mine;
  }
}

/** The transaction that the service has started. */
export const makeTransaction = (connection: Connection, id: string): Transaction => new CloudTransaction(connection, id);
