/** The errors that callers see, and how they travel from the engine. */

import { named, shared } from "./named.js";

/** An error as it comes from the engine or over a message port. */
export interface ErrorRecord {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
}

/**
 * The reason why a call failed.
 *
 * Test `code`. `message` is for people, in the words of the service; `hint` adds what it leaves out. `String(error)` has both, and so
 * has `stack` where it begins with the message, as in Chromium and Node: so a console shows the hint of an error that nobody caught.
 *
 * @example
 * ```ts
 * try {
 *   await db.putRow({ tableName, primaryKey, condition: { rowExistence: "EXPECT_NOT_EXIST" } });
 * } catch (error) {
 *   if (!(error instanceof TabStoreError) || error.code !== "OTSConditionCheckFail") throw error;
 *   console.log("it is there already");
 * }
 * ```
 */
export class TabStoreError extends Error {
  /**
   * The service's code, or one without `OTS`, which are ours.
   *
   * The call is wrong: `OTSParameterInvalid`, `OTSInvalidPK`, `OTSObjectNotExist`, `OTSObjectAlreadyExist`,
   * `OTSDataOutOfRange`, `OTSOutOfTransactionDataSizeLimit`, `OTSSessionNotExist`, `OTSTrimmedDataAccess`. Of a consumer group
   * ({@link ConsumerGroup}): `OTSTunnelExist`, `OTSTunnelExpired`, `OTSResourceGone`, `OTSSequenceNumberNotMatch`. A condition did not
   * hold: `OTSConditionCheckFail`. A limit is reached: `OTSQuotaExhausted`, `OTSTooFrequentReservedThroughputAdjustment`,
   * `QuotaExceeded` (the origin is full). Later it may work: `OTSRowOperationConflict`, `OTSSessionBusy`,
   * `OTSCapacityUnitExhausted`, `OTSServerBusy`, `Busy` (open in a tab that does not share it), `Unavailable`. It is unknown
   * whether the call was done, or the instance must be opened again: `LeaderChanged`. It must be opened again: `Closed`.
   * Stored data is damaged: `Corrupt`; opened with `salvage`, it is read-only: `ReadOnly`. The browser has lost the
   * instance: `DataLost`.
   * Only told to health listeners: `ClockJumped`. A fault of ours: `OTSInternalServerError`. Given up: `Aborted`.
   */
  readonly code: string;
  /** The HTTP status that the service gives with this code. */
  readonly status: number;
  /** Whether the same call may succeed a moment later. */
  readonly retryable: boolean;
  /**
   * A hint for people that helps to correct the call: the table, the column, the expected and the given value, the rule.
   * `undefined` if the message says all of it.
   */
  readonly hint: string | undefined;
  /** The call that failed, unique among all callers; `undefined` when no engine was asked. */
  readonly requestId: string | undefined;

  /** Makes an error; applications do not need it. */
  constructor(record: ErrorRecord, options?: ErrorOptions) {
    super(record.message, options);
    this.code = record.code;
    this.status = record.status;
    this.retryable = record.retryable;
    this.hint = record.hint;
    this.requestId = record.requestId;
    try {
      // An application may have made something else of it.
      if (this.hint && typeof this.stack === "string") this.stack = this.stack.replace(this.message, () => this.text);
    } catch {
      // Its code threw.
    }
  }

  private get text(): string {
    return this.hint ? `${this.message} (${this.hint})` : this.message;
  }

  /** The name, the message and the hint. */
  override toString(): string {
    return `${this.name}: ${this.text}`;
  }

  /** For `JSON.stringify`, which would leave out the message. */
  toJSON(): ErrorRecord & { readonly name: string } {
    const { name, code, status, retryable, message, hint, requestId } = this;
    return { name, code, status, retryable, message, hint, requestId };
  }
}
// On the prototype, so that it is not an own property of every error.
named(TabStoreError.prototype, "TabStoreError");
shared(TabStoreError, "TabStoreError");

/**
 * A wrong argument, refused before the engine is asked. The message begins with the fault.
 *
 * @internal
 */
export function invalid(message: string, hint?: string, options?: ErrorOptions): TabStoreError {
  return new TabStoreError({ code: "OTSParameterInvalid", status: 400, retryable: false, message, hint }, options);
}

/**
 * A wrong argument: its path, its value, the expected value.
 *
 * @internal
 */
export function wrongArgument(path: string, given: string, expected: string): TabStoreError {
  return invalid(`The argument '${path}' is ${given}; it must be ${expected}.`, `Argument '${path}': expected ${expected}, given ${given}.`);
}

/**
 * An error with one of the local codes.
 *
 * @internal
 */
export function local(
  code: "Busy" | "Closed" | "LeaderChanged" | "Unavailable" | "Aborted" | "OTSInternalServerError",
  message: string,
  options?: ErrorOptions & { readonly hint?: string | undefined },
): TabStoreError {
  const status = code === "OTSInternalServerError" ? 500 : code === "Aborted" ? 499 : 503;
  return new TabStoreError({ code, status, retryable: code === "Busy" || code === "Unavailable", message, hint: options?.hint }, options);
}

/**
 * Any value thrown by the engine or a message port, as an error for callers.
 *
 * @internal
 */
export function toError(thrown: unknown, requestId?: string): TabStoreError {
  if (thrown instanceof TabStoreError) return thrown;
  if (typeof thrown === "object" && thrown !== null && typeof (thrown as ErrorRecord).code === "string") {
    const { code, status, retryable, message, hint } = thrown as ErrorRecord;
    return new TabStoreError({
      code,
      status: Number(status),
      retryable: Boolean(retryable),
      message: String(message),
      hint: hint === undefined ? hint : String(hint),
      requestId,
    });
  }
  const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return local("OTSInternalServerError", `The engine failed: ${text}`, { cause: thrown });
}

/**
 * The record of an error, fit for a message port.
 *
 * @internal
 */
export function toRecord(thrown: unknown): ErrorRecord {
  const { code, status, retryable, message, hint } = toError(thrown);
  return { code, status, retryable, message, hint };
}
