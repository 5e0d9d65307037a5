/** What a row looks like to a caller. The class behind it lives with the codec, because it decodes itself. */

import type { Cell, PrimaryKey, Value, ValueType } from "./data.js";

/**
 * A row, as it was read. Nothing changes it: what it gives is frozen, or a copy.
 *
 * It decodes itself when it is looked at, from a page that it shares with its neighbours: a scan that looks at one column
 * pays for one. A text taken from a row may keep the text of its page alive (4 MB at most).
 *
 * A spread (`{ ...row }`), `structuredClone` and `postMessage` of a row give its `primaryKey` and `columns`, without the
 * methods; {@link Row.toObject} is mostly what is wanted. To change a row, use {@link Database.updateRow} with the columns
 * that change: `columns` hold the versions that were read, and {@link Row.toObject} forgets which numbers were Doubles.
 *
 * Only the package makes rows: it is a class so that TypeScript knows what a spread of one holds.
 *
 * @example
 * ```ts
 * const { row } = await db.getRow({ tableName: "reading", primaryKey: { station: "SEA", at: 1 }, maxVersions: 2 });
 * row?.primaryKey                                     // { station: "SEA", at: 1 }
 * row?.columns.note                                   // [{ value: "fog", version: 1732060800000 }], newest first
 * row?.get("note")                                    // "fog"
 * row?.type("note")                                   // "STRING"
 * ```
 */
export abstract class Row {
  /** The primary key, in schema order. Empty in the row of `returnContent: { afterModify }`. */
  abstract readonly primaryKey: PrimaryKey;
  /**
   * The attribute columns, each with its versions, newest first. The object has no prototype, so a column that the row lacks
   * is `undefined`, `constructor` too. Its names come in byte order, but those that are whole numbers, which JavaScript puts
   * first: {@link Row.columnNames} is in byte order always. Of a row with bytes it is a new object each time.
   */
  abstract readonly columns: Readonly<Record<string, readonly Cell[]>>;
  /** The names of the attribute columns, in byte order. */
  abstract get columnNames(): readonly string[];
  /**
   * The newest value of an attribute column, or the value of a key column; `undefined` when the row has none. To write a
   * Double back, which may have no fraction now, wrap it in {@link double}.
   */
  abstract get(name: string): Value | undefined;
  /** The version of the newest value of an attribute column; `undefined` when the row has none. */
  abstract version(name: string): number | undefined;
  /** The type of the newest value of an attribute column, or of a key column; `undefined` when the row has none. */
  abstract type(name: string): ValueType | undefined;
  /**
   * Key columns and newest values in one plain object. `JSON.stringify` of a row gives this too, with integers beyond 2^53
   * as texts and bytes as arrays of numbers.
   */
  abstract toObject(): Record<string, Value>;
}
