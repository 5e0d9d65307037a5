/** Keeps operations on one row in call order, where an operation is more than one call of the store. */

import type { InputPrimaryKey } from "../types/data.js";

/** The same text for equal keys. */
const textOf = (key: InputPrimaryKey): string =>
  Object.keys(key)
    .sort()
    .map((name) => {
      const value: unknown = key[name];
      return value instanceof Uint8Array ? `b${value.join()}` : `${typeof value === "string" ? "s" : "n"}${String(value)}`;
    })
    .join("\n");

/** The operations under way, by row. */
export class Lanes {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Runs an operation behind those on its row that were called before; at once, if there are none. */
  run<T>(key: InputPrimaryKey, work: () => Promise<T>): Promise<T> {
    const lane = textOf(key);
    const before = this.last.get(lane);
    const done = before === undefined ? work() : before.then(work, work);
    this.last.set(lane, done);
    const leave = (): void => {
      if (this.last.get(lane) === done) this.last.delete(lane);
    };
    done.then(leave, leave);
    return done;
  }

  /** Reads a row behind the operations on it. */
  read<T>(key: InputPrimaryKey, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(textOf(key));
    return before === undefined ? work() : before.then(work, work);
  }
}
