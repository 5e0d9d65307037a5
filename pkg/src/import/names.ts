/** Legal names for the columns of a source. */

import { LEGAL_NAME } from "../codec/check.js";
import type { SourceRow } from "./records.js";

/** A legal column name [T2] for any text. */
export function legalName(source: string): string {
  const name = source.replace(/[^A-Za-z0-9_]+/g, "_").slice(0, 255);
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`.slice(0, 255);
}

/**
 * Gives each column of a source its own legal name, in order of appearance. The preview of a file and its import give the
 * same names.
 */
export class Names {
  private readonly names = new Map<string, string>();
  private readonly taken = new Set<string>();

  /** Names the new columns of a record. Columns with legal names come first and keep them. */
  add(record: SourceRow): void {
    const fresh = Object.keys(record).filter((source) => !this.names.has(source));
    for (const legal of [true, false]) {
      for (const source of fresh) {
        if (LEGAL_NAME.test(source) !== legal) continue;
        const wanted = legalName(source);
        let name = wanted;
        for (let next = 2; this.taken.has(name); next++) name = `${wanted.slice(0, 250)}_${next}`;
        this.taken.add(name);
        this.names.set(source, name);
      }
    }
  }

  /** The name of a column that has been added. */
  of(source: string): string {
    return this.names.get(source)!;
  }
}
