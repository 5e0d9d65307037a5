/** The integers of keys and cells, as the caller wants them. */

import type { Client } from "../client/client.js";

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/**
 * What the engine tells, with its integers as the caller wants them. The engine tells those that users stored as bigints, and counts of
 * its own as numbers. Unless all shall be bigints, those that a number holds exactly become numbers.
 */
export function withIntegers<T>(told: T, { bigints }: Client): T {
  return bigints ? told : (plain(told) as T);
}
