/** What an instance has in its storage, and what of that is damaged. */

import type { CallOptions, KeyValue, PrimaryKey } from "./data.js";

/** The result of {@link Database.storage}, in bytes. */
export interface StorageInfo {
  /** Stored data of the instance that is in use: segments and log. */
  readonly live: number;
  /** The rest of its segments: parts that nothing uses any more. `compact()` gives them back. */
  readonly garbage: number;
  /** The reserve for deletions on a full disk, `reserveBytes` of `open`. */
  readonly reserve: number;
  /** The use of the whole origin, as the browser estimates it. `null` where the host does not tell (WebKitGTK). */
  readonly used: number | null;
  /** The limit of the whole origin, as the browser estimates it; `null` as for `used`. Writes may fail long before it. */
  readonly quota: number | null;
  /** Whether the browser has promised to keep the origin's data when it makes room. `null` where the host does not tell. */
  readonly persisted: boolean | null;
}

/** The options of {@link Database.verify}. */
export interface VerifyOptions extends CallOptions {
  /** Find texts that consist of NULs only. */
  readonly texts: true;
}

/** A stored text that looks damaged. */
export interface DamagedText {
  /** The table. */
  readonly tableName: string;
  /** The stored primary key of the row. With it the row can be read and deleted, even if the key is damaged. */
  readonly primaryKey: PrimaryKey;
  /** Whether the text is a part of the key or an attribute value. */
  readonly place: "primaryKey" | "attribute";
  /** The column that holds the text. */
  readonly column: string;
  /** The version of the value; `undefined` for a part of the key. */
  readonly version: number | undefined;
  /** NULs in the text. Damaged texts have 2 to 6: the bytes of one or two characters. */
  readonly length: number;
}

/** Rows listed by {@link Database.missing}: they depend on one damaged record. */
export interface MissingRows {
  /** The table; `null` if it is unknown: see `tree`. */
  readonly tableName: string | null;
  /**
   * The engine's number of the table. 0 is the list of tables: tables with names between `from` and `to` may now be
   * called `tree_<number>`. 4294967295 is the capacity meter. `null`: writes of unknown rows are missing. These rows show
   * their earlier state, and deleted ones are there again.
   */
  readonly tree: number | null;
  /**
   * The values of the first key that may be missing, or only its first values, which stand for all keys that begin with
   * them. `null`: from the first row on.
   */
  readonly from: readonly KeyValue[] | null;
  /** In the same way, the first key behind the range; `null`: up to the last row. */
  readonly to: readonly KeyValue[] | null;
  /** The damaged record and its fault. */
  readonly reason: string;
}
