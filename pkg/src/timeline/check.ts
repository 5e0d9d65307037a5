/** Checks arguments that only timelines have. */

import { BesideChecks } from "../beside.js";
import { isBytes } from "../codec/bytes.js";
import { shown } from "../codec/kinds.js";
import type { Database, KeyType } from "../index.js";

const MAX_ID = 2n ** 63n - 1n;

/** The database, and the settings of its timelines. */
export class Host extends BesideChecks {
  /** `bigint`: whether every sequence id is a bigint. */
  constructor(
    db: Database,
    readonly bigint: boolean,
  ) {
    super(db);
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
