/** Copies arguments that are read later. */

import { isPlain, MOST } from "../codec/check.js";
import { isBytes, lengthOf } from "../codec/bytes.js";
import { setField } from "../codec/plain-object.js";

/** A copy of plain objects, arrays and bytes. All else stays. */
export function copied<T>(value: T, copies?: Map<unknown, unknown>): T;
export function copied(value: unknown, copies = new Map<unknown, unknown>()): unknown {
  // Bytes that are gone have no length. They are refused later, as what else is wrong.
  if (isBytes(value)) return lengthOf(value) > 0 ? Uint8Array.prototype.slice.call(value) : value;
  if (typeof value !== "object" || value === null || !(Array.isArray(value) ? value.length < MOST : isPlain(value))) return value;
  let copy = copies.get(value);
  if (copy === undefined) {
    copies.set(value, (copy = Array.isArray(value) ? [] : {}));
    for (const name of Object.keys(value)) setField(copy as Record<string, unknown>, name, copied((value as Record<string, unknown>)[name], copies));
  }
  return copy;
}
