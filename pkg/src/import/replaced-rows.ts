/**
 * Counts the rows of an import that replace others. The rows are put without a condition, as fast as any, so this looks for
 * the others by itself, in one of three ways:
 *
 * - A table without rows has none to replace. Only a key that comes twice in the source does, and the keys so far are known.
 * - In a table with rows the keys are read before they are put, as long as the import is short.
 * - A long import counts the table's rows before and after. What was stored and is no more than before has replaced something.
 */

import type { Database } from "../types/database.js";
import type { NewRow } from "../types/writer.js";
import type { PrimaryKey } from "../types/rows.js";
import { Seen } from "./seen.js";

/** What an import asks of its database. */
export type ImportTarget = Pick<Database, "describeTable" | "writer" | "getRange" | "batchGetRow" | "count">;

/** The keys of one reading [R2]. */
export const LOOK_ROWS = 100;
/** The rows of an import whose keys are read. To count all of the table takes longer than to read fewer. */
export const LOOK_MOST = 10_000;

interface Options {
  readonly signal?: AbortSignal;
}

/** Counts the replaced rows of one import. Its rows must be told before they are put. */
export class Replaced {
  private replaced = 0;
  private looked = 0;
  /** The rows of the table, and the stored rows of the import, when the counting began. */
  private counted: { readonly rows: number; readonly stored: number } | undefined;
  /** The keys that have rows, of those that can come next. */
  private seen: Seen | undefined = new Seen();

  private constructor(
    private readonly db: ImportTarget,
    private readonly tableName: string,
    private readonly key: readonly string[],
    private readonly options: Options,
    /** Whether the table had no rows. */
    private readonly wasEmpty: boolean,
  ) {}

  /** Looks whether the table has rows. `key` has the names of its key columns. */
  static async begin(db: ImportTarget, tableName: string, key: readonly string[], options: Options): Promise<Replaced> {
    const { rows } = await db.getRange({ tableName, limit: 1, ...options });
    return new Replaced(db, tableName, key, options, rows.length === 0);
  }

  /** Whether it must `look` at the next rows before they are put. */
  get looks(): boolean {
    return !this.wasEmpty && this.counted === undefined;
  }

  /** A row was put. */
  see({ primaryKey }: NewRow): void {
    if (this.seen?.add(this.valuesOf(primaryKey)) === false) this.replaced += 1;
  }

  /** Looks which of the next rows are there, at most {@link LOOK_ROWS}. `stored` stores those so far, and tells how many they are. */
  async look(rows: readonly NewRow[], stored: () => Promise<number>): Promise<void> {
    if (!this.looks) return;
    if (this.looked >= LOOK_MOST) {
      this.seen = undefined;
      const before = await stored();
      this.counted = { rows: await this.count(), stored: before };
      return;
    }
    this.looked += rows.length;
    // A key of which the store assigns a part is no other row's, and one that comes twice is read once.
    const asked = new Seen();
    const keys = rows.map(({ primaryKey }) => primaryKey as PrimaryKey).filter((key) => asked.add(this.valuesOf(key)) === true);
    this.seen = new Seen();
    for (const key of keys.length > 0 ? await this.found(keys) : []) this.seen.add(this.valuesOf(key));
  }

  private valuesOf(primaryKey: Readonly<Record<string, unknown>>): unknown[] {
    return this.key.map((name) => primaryKey[name]);
  }

  /** The keys that have rows. */
  private async found(primaryKeys: readonly PrimaryKey[]): Promise<PrimaryKey[]> {
    const { tableName, options } = this;
    try {
      const [results] = await this.db.batchGetRow([{ tableName, primaryKeys, columnsToGet: this.key }], options);
      const refused = results.find(({ ok }) => !ok);
      if (refused?.error !== undefined) throw refused.error;
      return results.flatMap(({ row }) => (row ? [row.primaryKey] : []));
    } catch (error) {
      if ((error as { status?: number }).status !== 400) throw error;
      // A wrong key fails the whole reading. It has no row, and its put tells what is wrong with it.
      if (primaryKeys.length === 1) return [];
      const half = primaryKeys.length >> 1;
      return [...(await this.found(primaryKeys.slice(0, half))), ...(await this.found(primaryKeys.slice(half)))];
    }
  }

  private async count(): Promise<number> {
    return (await this.db.count({ tableName: this.tableName, ...this.options })).count;
  }

  /** The number of replaced rows, once `stored` rows of the import are stored. */
  async end(stored: number): Promise<number> {
    const { counted } = this;
    if (counted === undefined) return this.replaced;
    return this.replaced + Math.max(0, stored - counted.stored - ((await this.count()) - counted.rows));
  }
}
