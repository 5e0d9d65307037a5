/**
 * Checks arguments, and makes the errors of this entry.
 *
 * It imports nothing of the package at run time, because it must work beside any entry. `TabStoreError` is the class of the
 * database's own entry, so `instanceof` holds in the application.
 */

import { kindOf, isBytes, shown } from "../codec/kinds.js";
import type { Database, KeyType, TabStoreError } from "../index.js";

const MAX_ID = 2n ** 63n - 1n;

/** The database, and the errors of its entry. */
export class Host {
  private readonly Failure: typeof TabStoreError;

  /** `bigint`: whether every sequence id is a bigint. */
  constructor(readonly db: Database, readonly bigint: boolean) {
    this.Failure = failureOf(db);
  }

  /** An error with a code of the service. */
  error(code: string, message: string, hint?: string): TabStoreError {
    const status = code === "OTSObjectAlreadyExist" ? 409 : code === "Closed" ? 503 : 400;
    return new this.Failure({ code, status, retryable: false, message, hint });
  }

  /** Whether a thrown value is an error of the package, with one of these codes if there are any. */
  isFailure(thrown: unknown, ...codes: readonly string[]): thrown is TabStoreError {
    return thrown instanceof this.Failure && (codes.length === 0 || codes.includes(thrown.code));
  }

  /** A wrong argument, with its path, its value and the expected value. */
  wrong(path: string, given: string, expected: string): TabStoreError {
    return this.error("OTSParameterInvalid", `The argument '${path}' is ${given}; it must be ${expected}.`, `Argument '${path}': expected ${expected}, given ${given}.`);
  }

  /** The options of a call; refuses names that it does not know. */
  options<T extends object>(value: T | undefined, known: readonly string[], what: string): T {
    if (value === undefined) return {} as T;
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw this.wrong(what, kindOf(value), "an object");
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) throw this.error("OTSParameterInvalid", `Unknown argument '${name}' in '${what}'. Known are: ${known.join(", ")}.`);
    }
    return value;
  }

  /** Refuses a value other than an array; gives a copy. */
  array(value: unknown, path: string): unknown[] {
    if (!Array.isArray(value)) throw this.wrong(path, kindOf(value), "an array");
    return [...(value as unknown[])];
  }

  /** Refuses a value other than one of these texts. */
  check(value: string, allowed: readonly string[], path: string): void {
    if (!allowed.includes(value)) throw this.wrong(path, shown(value), allowed.map((one) => `'${one}'`).join(" or "));
  }

  /** Refuses a value other than a text. */
  text(value: unknown, path: string): void {
    if (typeof value !== "string") throw this.wrong(path, kindOf(value), "a string");
  }

  /** An id from 0 to 2^63 - 1. */
  id(value: unknown, path: string): bigint {
    if (typeof value === "bigint" ? value >= 0n && value <= MAX_ID : Number.isSafeInteger(value) && (value as number) >= 0) return BigInt(value as number);
    throw this.wrong(path, typeof value === "bigint" ? `${value}n` : shown(value), "an integer from 0 to 2^63 - 1, a bigint beyond 2^53 - 1");
  }

  /** How many to give. */
  maxCount(value: unknown, endless: boolean): number {
    if (value === undefined) return 100;
    if (endless && value === Infinity) return Infinity;
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    throw this.wrong("maxCount", shown(value), endless ? "a positive integer or Infinity" : "a positive integer");
  }

  /** Whether a key column of this type takes the value. Lengths are the engine's affair. */
  isKey(value: unknown, type: KeyType): boolean {
    if (type === "INTEGER") return Number.isSafeInteger(value) || typeof value === "bigint";
    return type === "STRING" ? typeof value === "string" : isBytes(value);
  }
}

/**
 * The class of the errors of the database's entry. A page may have several entries, each with a class of its own. A wrong call
 * of the public interface that changes nothing tells which it is.
 */
function failureOf(db: Database): typeof TabStoreError {
  try {
    if (typeof db?.writer === "function") db.writer(undefined as never);
  } catch (error) {
    if (error instanceof Error && error.name === "TabStoreError") return error.constructor as typeof TabStoreError;
  }
  throw new TypeError(`The argument 'db' is ${kindOf(db)}; it must be an open Database.`);
}
