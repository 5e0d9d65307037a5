/**
 * What the entries beside the others have in common: their errors and checks of arguments.
 *
 * It imports nothing of the package at run time but plain functions, because these entries must work beside any other one.
 * `TabStoreError` is the class of the database's own entry, so `instanceof` holds in the application.
 */

import { kindOf, shown } from "./codec/kinds.js";
import type { Database, TabStoreError } from "./index.js";

/** The statuses of codes; all others are 400. */
const STATUS: Readonly<Record<string, number>> = { OTSObjectAlreadyExist: 409, Closed: 503 };

/** The database, and the errors of its entry. */
export class Beside {
  private readonly Failure: typeof TabStoreError;

  /** Takes an open database. `argument`: its name among the arguments of the entry. */
  constructor(
    readonly db: Database,
    argument = "db",
  ) {
    this.Failure = failureOf(db, argument);
  }

  /** An error with a code of a service. */
  error(
    code: string,
    message: string,
    hint?: string,
    more: { readonly status?: number; readonly retryable?: boolean; readonly requestId?: string | undefined } = {},
  ): TabStoreError {
    return new this.Failure({ code, status: STATUS[code] ?? 400, retryable: false, message, hint, ...more });
  }

  /** Whether a thrown value is an error of the package, with one of these codes if there are any. */
  isFailure(thrown: unknown, ...codes: readonly string[]): thrown is TabStoreError {
    return thrown instanceof this.Failure && (codes.length === 0 || codes.includes(thrown.code));
  }

  /** A wrong argument, with its path, its value and the expected value. */
  wrong(path: string, given: string, expected: string): TabStoreError {
    return this.error(
      "OTSParameterInvalid",
      `The argument '${path}' is ${given}; it must be ${expected}.`,
      `Argument '${path}': expected ${expected}, given ${given}.`,
    );
  }
}

/** The same, and checks of the arguments of calls. Apart, because some entries have none of these checks. */
export class BesideChecks extends Beside {
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
}

/**
 * The class of the errors of the database's entry. A page may have several entries, each with a class of its own. A wrong call
 * of the public interface that changes nothing tells which it is.
 */
function failureOf(db: Database, argument: string): typeof TabStoreError {
  try {
    if (typeof db?.writer === "function") db.writer(undefined as never);
  } catch (error) {
    if (error instanceof Error && error.name === "TabStoreError") return error.constructor as typeof TabStoreError;
  }
  throw new TypeError(`The argument '${argument}' is ${kindOf(db)}; it must be an open Database.`);
}
