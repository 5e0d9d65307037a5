/** A row for callers. The class behind it is in the codec, because it decodes itself. */

import type { Cell, PrimaryKey, Value, ValueType } from "./data.js";

/**
 * A row, as it was read. It never changes: its values are frozen or copies.
 *
 * It decodes itself on access, from a page that it shares with its neighbours. So a scan pays only for the columns that
 * it reads. A text taken from a row may keep the text of its page alive (4 MB at most).
 *
 * A spread (`{ ...row }`), `structuredClone` and `postMessage` of a row give its `primaryKey` and `columns`, without the
 * methods; mostly {@link Row.toObject} is the better choice. To change a row, use {@link Database.updateRow} with the
 * changed columns. `columns` has the versions as read, and {@link Row.toObject} does not keep which numbers were Doubles.
 *
 * Only the package makes rows. It is a class so that TypeScript knows the members of a spread.
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
   * The attribute columns, each with its versions, newest first. The object has no prototype, so a missing column is
   * `undefined`, even `constructor`. Its names come in byte order, except whole numbers, which JavaScript puts first;
   * {@link Row.columnNames} is always in byte order. For a row with bytes it is a new object each time.
   */
  abstract readonly columns: Readonly<Record<string, readonly Cell[]>>;
  /** The names of the attribute columns, in byte order. */
  abstract get columnNames(): readonly string[];
  /**
   * The newest value of an attribute column, or the value of a key column; `undefined` if the row has none. To write a
   * Double back, which may have no fraction now, wrap it in {@link double}.
   */
  abstract get(name: string): Value | undefined;
  /** The version of the newest value of an attribute column; `undefined` when the row has none. */
  abstract version(name: string): number | undefined;
  /** The type of the newest value of an attribute column, or of a key column; `undefined` when the row has none. */
  abstract type(name: string): ValueType | undefined;
  /**
   * The types of the versions of an attribute column, in the order of {@link Row.columns}; empty when the row has none. A version may
   * be a Double without a fraction, or an Integer: its value does not tell.
   */
  abstract types(name: string): readonly ValueType[];
  /**
   * Key columns and newest values in one plain object. `JSON.stringify` of a row gives this too, with integers beyond 2^53
   * as texts and bytes as arrays of numbers.
   */
  abstract toObject(): Record<string, Value>;
}
