/**
 * A set of primary keys by two hashes of 32 bits each, in 8 bytes a slot. Among a million keys two different ones are taken for
 * the same with a chance of 1 in 30 million.
 */

import { isAutoIncrement } from "../codec/value.js";

/** The slots at first. At least a third of them are free. */
const SLOTS = 1024;

/** Two hashes, which take in 32 bits at a time. */
class Hash {
  low = 0x811c9dc5;
  high = 0x2545f491;

  add(word: number): void {
    this.low = Math.imul(this.low ^ word, 0x01000193);
    this.low ^= this.low >>> 15;
    this.high = Math.imul(this.high ^ word ^ (this.low << 7), 0x85ebca6b);
    this.high ^= this.high >>> 13;
  }

  addText(value: string): void {
    this.add(value.length);
    for (let at = 0; at < value.length; at++) this.add(value.charCodeAt(at));
  }
}

/** Keys that were seen. */
export class Seen {
  private slots = new Uint32Array(2 * SLOTS);
  private used = 0;

  /** Adds the values of a key. Tells whether it is new; `undefined`: the store will assign a part of it, so it always is. */
  add(key: readonly unknown[]): boolean | undefined {
    const hash = new Hash();
    for (const value of key) {
      if (isAutoIncrement(value)) return undefined;
      if (typeof value === "string") {
        hash.addText(value);
      } else if (typeof value === "number") {
        hash.add(value | 0);
        hash.add(Math.floor(value / 2 ** 32) | 0);
      } else if (typeof value === "bigint") {
        // One integer may come in both ways.
        hash.add(Number(BigInt.asIntN(32, value)));
        hash.add(Number(BigInt.asIntN(32, value >> 32n)));
      } else if (value instanceof Uint8Array) {
        hash.add(~value.length);
        for (const byte of value) hash.add(byte);
      } else {
        // Whatever it is, the put refuses it.
        return undefined;
      }
    }
    // 0 is an empty slot.
    return this.insert(hash.low >>> 0, hash.high >>> 0 || 1);
  }

  private insert(low: number, high: number): boolean {
    const { slots } = this;
    const mask = slots.length / 2 - 1;
    let at = low & mask;
    for (; slots[2 * at + 1] !== 0; at = (at + 1) & mask) {
      if (slots[2 * at] === low && slots[2 * at + 1] === high) return false;
    }
    slots[2 * at] = low;
    slots[2 * at + 1] = high;
    this.used += 1;
    if (this.used * 3 > mask * 2) this.grow();
    return true;
  }

  private grow(): void {
    const { slots } = this;
    this.slots = new Uint32Array(slots.length * 2);
    this.used = 0;
    for (let at = 0; at < slots.length; at += 2) if (slots[at + 1] !== 0) this.insert(slots[at], slots[at + 1]);
  }
}
