/** Rows out: exports of a table, and of an instance. */

import type { CallOptions, RangeKey } from "./data.js";
import type { Filter } from "./filter.js";
import type { ImportFormat } from "./writer.js";

/** Options of {@link Database.exportRows}. */
export interface ExportOptions extends CallOptions {
  /**
   * The format: `"ndjson"` (the default), a row a line; `"json"`, one array of the same rows; `"csv"`, a table with a header, for
   * other programs.
   */
  readonly format?: ImportFormat | undefined;
  /**
   * What a row of NDJSON or JSON looks like. `"row"` (the default) is exact: `{"primaryKey":{…},"attributes":{…}}`, in which an
   * import finds every type again. `"object"` is plain, as other programs expect: `{"id":1,"title":"x"}`. There bytes are base64,
   * and a Double without a fraction looks like an Integer.
   */
  readonly shape?: "row" | "object" | undefined;
  /**
   * How many versions of a column are written, newest first: a number, or `"all"`. They have their versions then, also if it is one.
   * By default the newest value, without its version. Only in the shape `"row"`.
   */
  readonly versions?: number | "all" | undefined;
  /**
   * The attribute columns; by default all. The header of a CSV file names the columns of the key, and these. Without them a table is
   * read twice for CSV, the first time for the names; an export fails if another one comes meanwhile.
   */
  readonly columns?: readonly string[] | undefined;
  /** The first key, included; by default the start of the table. */
  readonly start?: RangeKey | undefined;
  /** The key to stop before; by default the end of the table. */
  readonly end?: RangeKey | undefined;
  /** Writes only rows that pass it. */
  readonly filter?: Filter | undefined;
  /** The most rows; by default no limit. */
  readonly limit?: number | undefined;
  /** Called after each page, and at the end. If it throws, the stream fails with that error. */
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
}

/** The progress of an export. */
export interface ExportProgress {
  /** Rows written. */
  readonly rows: number;
  /** Bytes written. */
  readonly bytes: number;
}

/** Options of {@link Database.exportInstance}. */
export interface ExportInstanceOptions extends CallOptions {
  /** The tables; by default all of them. Their indexes come with them. */
  readonly tables?: readonly string[] | undefined;
  /**
   * What to do where the instance has tables of the Azure Table service, which an export cannot hold: `"refuse"` (the default), or
   * `"leaveOut"`.
   */
  readonly azure?: "refuse" | "leaveOut" | undefined;
  /** As {@link ExportOptions.onProgress}. */
  readonly onProgress?: ((progress: InstanceProgress) => void) | undefined;
}

/** Options of {@link Database.importInstance}. */
export interface ImportInstanceOptions extends CallOptions {
  /**
   * What to do where a table of the export is there already: `"refuse"` (the default) rejects with `OTSObjectAlreadyExist`, and stores
   * nothing. `"merge"` puts the rows into the table that is there, and creates the others. A row whose key is there is replaced. A
   * table with indexes takes the newest values, and gives them new versions. Meanwhile a table without indexes takes any version
   * (`maxVersionOffset`). Values that have expired by the store's clock, or do within a minute, are left out. Imports into one
   * instance run one after another, in all tabs.
   */
  readonly existing?: "refuse" | "merge" | undefined;
  /** Called after each stored batch, and at the end of each table. */
  readonly onProgress?: ((progress: InstanceProgress) => void) | undefined;
}

/** The progress of an export or import of an instance. */
export interface InstanceProgress extends ExportProgress {
  /** The table whose rows come. */
  readonly tableName: string;
}

/** The result of {@link Database.importInstance}. */
export interface ImportInstanceResult {
  /** The tables that it created. */
  readonly tables: readonly string[];
  /** Rows stored. */
  readonly rows: number;
}
