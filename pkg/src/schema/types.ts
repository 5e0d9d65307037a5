/** The types of a schema: what rows, keys, patches and filters of a table look like. */

import type { AnyColumn, Presence } from "./columns.js";
import type { Cell, CallOptions, KeyType } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { ExportOptions, ImportInstanceResult } from "../types/export.js";
import type { Comparisons, Filter, FilterBuilder } from "../types/filter.js";
import type { ImportOptions, ImportResult, ImportSource } from "../types/writer.js";
import type { LiveCount } from "../types/live.js";
import type { OpenOptions } from "../types/rows.js";

/** The columns of a table, by their names. */
export type Columns = Readonly<Record<string, AnyColumn>>;

/** The names of columns that a key may have. */
type KeyNames<C extends Columns> = {
  [N in keyof C & string]: C[N]["stored"] extends KeyType ? (C[N]["presence"] extends "required" | "auto" ? N : never) : never;
}[keyof C & string];

/** The names of columns that the key of an index may have. */
type IndexNames<C extends Columns> = { [N in keyof C & string]: C[N]["stored"] extends KeyType ? N : never }[keyof C & string];

/** A time: seconds, or a number with its unit, days or weeks. */
export type Seconds = number | `${number}d` | `${number}w`;

/** An index: the columns of its key; or these, and the other columns it holds. All of the table by default. */
export type IndexSpec<Name extends string = string> = readonly Name[] | { readonly key: readonly Name[]; readonly columns?: readonly string[] };

/** A table of a schema, as it is written. */
export interface TableSpec<C extends Columns = Columns> {
  /** All columns, those of the key too. */
  readonly columns: C;
  /** 1 to 4 columns, in the order in which rows sort: text, integer, bigint, bytes or date. The first one is the partition key. */
  readonly key: string | readonly string[];
  /** Indexes, by their names. A row is in one if it has all columns of its key. */
  readonly indexes?: Readonly<Record<string, IndexSpec>>;
  /** How long a value lives, from its write: a day at least. Not with indexes. For ever by default. */
  readonly timeToLive?: Seconds;
  /** Hours that changes can be read back, 1 to 168. No changes are kept by default. */
  readonly changesFor?: number;
}

/** What a table's parts must be, by its own columns. */
export type Checked<S extends TableSpec> = {
  readonly key: KeyNames<S["columns"]> | readonly KeyNames<S["columns"]>[];
  readonly indexes?: {
    readonly [I in keyof S["indexes"]]:
      | readonly IndexNames<S["columns"]>[]
      | { readonly key: readonly IndexNames<S["columns"]>[]; readonly columns?: readonly (keyof S["columns"] & string)[] };
  };
};

/** Tables, by their names. */
export type Specs = Readonly<Record<string, TableSpec>>;

type Show<T> = { [K in keyof T]: T[K] } & {};
type ValueOf<C> = C extends { readonly value: infer T } ? T : never;
type NamesWith<C extends Columns, P extends Presence> = { [N in keyof C & string]: C[N]["presence"] extends P ? N : never }[keyof C & string];

/** The columns of a table's key, in their order: `["station", "at"]`. */
export type KeyOrder<S extends TableSpec> = S["key"] extends readonly string[] ? S["key"] : S["key"] extends string ? readonly [S["key"]] : never;

// The types below are conditional on what always holds: so they have their names where the schema is open, as in the reference, and are
// spelt out where it is known, as in an editor.

/** A row as it is read: `{ id: number; title: string; stars: number; lat?: number }`, where `lat` is optional, and `stars` has a default. */
export type RowOf<S extends TableSpec> = S extends TableSpec
  ? Show<
      { [N in Exclude<keyof S["columns"] & string, NamesWith<S["columns"], "optional">>]: ValueOf<S["columns"][N]> } & {
        [N in NamesWith<S["columns"], "optional">]?: ValueOf<S["columns"][N]> | undefined;
      }
    >
  : never;

/**
 * A row as it is written: `{ id: number; title: string; stars?: number; lat?: number }`. The store gives what is `auto`, and a default
 * stands for what is missing.
 */
export type NewRowOf<S extends TableSpec> = S extends TableSpec
  ? Show<
      { [N in NamesWith<S["columns"], "required">]: ValueOf<S["columns"][N]> } & {
        [N in NamesWith<S["columns"], "optional" | "default" | "auto">]?: ValueOf<S["columns"][N]> | undefined;
      }
    >
  : never;

/** A key, as an object: `{ station: string; at: Date }`. */
export type KeyObject<S extends TableSpec> = S extends TableSpec ? Show<{ [N in KeyOrder<S>[number]]: ValueOf<S["columns"][N]> }> : never;

/** A key: an object, or the value alone where one column is the key, as in `{ id: number } | number`. */
export type KeyOf<S extends TableSpec> = S extends TableSpec
  ? KeyObject<S> | (KeyOrder<S> extends readonly [infer N extends string] ? ValueOf<S["columns"][N]> : never)
  : never;

/**
 * Changes of a row: `{ title?: string; stars?: number | null; lat?: number | null }`. What is not named, or `undefined`, stays; `null`
 * removes a column that is optional or has a default.
 */
export type PatchOf<S extends TableSpec> = S extends TableSpec
  ? Show<
      {
        [N in Exclude<keyof S["columns"] & string, KeyOrder<S>[number] | NamesWith<S["columns"], "optional" | "default">>]?:
          | ValueOf<S["columns"][N]>
          | undefined;
      } & { [N in Exclude<NamesWith<S["columns"], "optional" | "default">, KeyOrder<S>[number]>]?: ValueOf<S["columns"][N]> | null | undefined }
    >
  : never;

/** The names of attribute columns: `"title" | "stars" | "lat"`. */
export type AttributeOf<S extends TableSpec> = Exclude<keyof S["columns"] & string, KeyOrder<S>[number]>;

/** The names of columns that count, which are integers and in no key: `"stars"`. */
export type CounterOf<S extends TableSpec> = {
  [N in AttributeOf<S>]: S["columns"][N]["stored"] extends "INTEGER" ? (ValueOf<S["columns"][N]> extends number | bigint ? N : never) : never;
}[AttributeOf<S>];

/** The columns of an index's key, in their order: without those of the table's key behind them. */
type IndexKey<I> = I extends readonly string[] ? I : I extends { readonly key: infer K extends readonly string[] } ? K : never;

/** The rows of an index: those of the table, or some of their columns. The columns of its key are there. */
export type IndexRowOf<S extends TableSpec, I> = I extends { readonly columns: infer N extends readonly string[] }
  ? Show<Pick<RowOf<S>, (N[number] | KeyOrder<S>[number]) & keyof RowOf<S>> & { [M in IndexKey<I>[number]]: ValueOf<S["columns"][M]> }>
  : Show<Omit<RowOf<S>, IndexKey<I>[number]> & { [M in IndexKey<I>[number]]: ValueOf<S["columns"][M]> }>;

/** A stretch of values of one column; {@link between} and {@link prefix} make them. */
export interface Stretch<T> {
  /** The first value, included. */
  readonly from?: T | undefined;
  /** The value to stop before. */
  readonly to?: T | undefined;
}

/**
 * The leading columns of a key: values, and at the last one perhaps a stretch, as in `{ station: string; at: Stretch<Date> }`. A stretch
 * alone is one of the first column.
 */
export type PartOf<S extends TableSpec, Order extends readonly string[]> = S extends TableSpec
  ?
      | { readonly [N in Order[number]]?: ValueOf<S["columns"][N]> | Stretch<ValueOf<S["columns"][N]>> }
      | (Order extends readonly [infer N extends string, ...string[]] ? Stretch<ValueOf<S["columns"][N]>> : never)
  : never;

/**
 * The columns of a table, for a filter: `{ title: Comparisons<string>; lat: Comparisons<number> }`. A row without the column does not
 * pass, unless the options say so.
 */
export type FilterColumns<S extends TableSpec> = S extends TableSpec
  ? { readonly [N in keyof S["columns"] & string]: Comparisons<ValueOf<S["columns"][N]>> }
  : never;

/** What `where` takes: values that must be equal, `{ title: "a" }`, or a filter made of the columns, `({ lat }) => lat.gt(50)`. */
export type Where<S extends TableSpec> = S extends TableSpec
  ? { readonly [N in keyof S["columns"] & string]?: ValueOf<S["columns"][N]> | undefined } | ((columns: FilterColumns<S>) => Filter | FilterBuilder)
  : never;

/** The rows of a query at one time. */
export interface QueryRows<R> {
  /** The rows, in order. A row that has not changed is the same object as before. */
  readonly rows: readonly R[];
}

/** What a live query shows: its rows, `undefined` until they were read; and why it has ended, if so. */
export interface QuerySnapshot<R> {
  /** The rows so far. */
  readonly rows: readonly R[] | undefined;
  /** Why it ended. */
  readonly error: unknown;
}

/** A live query: it reads and waits while somebody iterates or is subscribed. */
export interface LiveRowsOf<R> {
  /** The rows, and again after each commit that changes them, of any tab. */
  [Symbol.asyncIterator](): AsyncIterableIterator<QueryRows<R>>;
  /** Calls `listener` after each change of the snapshot. Gives the function that ends it. */
  subscribe(listener: () => void): () => void;
  /** What there is now: the same object until something changes. */
  getSnapshot(): QuerySnapshot<R>;
}

/** A page of a query. */
export interface Page<R> {
  /** The rows. */
  readonly rows: R[];
  /** Where the next page begins, as a text, for an address or a button; `null` at the end. */
  readonly next: string | null;
}

/** What a page is asked for with. */
export interface PageOptions extends CallOptions {
  /** `next` of the page before; `null` or nothing for the first one. */
  readonly after?: string | null | undefined;
  /** Rows at most, 1 to 5000; 50 by default. */
  readonly limit?: number | undefined;
}

/** What a table and a query have in common: rows in the order of a key. */
export interface OrderedRows<S extends TableSpec, R, Order extends readonly string[]> extends AsyncIterable<R> {
  /** Only rows whose key begins so: values of the first columns, and at the last one perhaps `between` or `prefix`. No scan beyond them. */
  range(part: PartOf<S, Order>): Query<S, R, Order>;
  /** Only rows that pass. It reads all rows of the range, and gives those. */
  where(condition: Where<S>): Query<S, R, Order>;
  /** By descending keys. */
  reverse(): Query<S, R, Order>;
  /** The first so many rows at most. */
  limit(rows: number): Query<S, R, Order>;
  /** All rows. */
  toArray(options?: CallOptions): Promise<R[]>;
  /** The first row, or `undefined`. */
  first(options?: CallOptions): Promise<R | undefined>;
  /** So many rows, and where the next ones begin. */
  page(options?: PageOptions): Promise<Page<R>>;
  /** The number of rows. It reads the rows of the range in the engine, not in the page; with `limit` in the page. */
  count(options?: CallOptions): Promise<number>;
  /** The number of its rows, and again each time it changes. Not with `limit`. It reads what `count` reads, after each change. */
  watchCount(options?: CallOptions): LiveCount;
  /** What it asks for, so that two queries can be compared. */
  toJSON(): object;
  /** What all queries of one open database share: the same object. */
  readonly owner: object;
}

/**
 * Rows in the order of a key, of a table or of an index. It never changes: each method gives a new one. It reads when it is iterated or
 * when one of its last methods is called, and only the rows of its range. Each row that `where` leaves out is read too.
 */
export interface Query<S extends TableSpec, R, Order extends readonly string[]> extends OrderedRows<S, R, Order> {
  /** Deletes the rows, in batches: each row for itself, not all at once. Gives their number. */
  delete(options?: CallOptions): Promise<number>;
  /** The rows, and again after each change. */
  watch(options?: CallOptions): LiveRowsOf<R>;
}

/** A change of a row. */
export interface ChangeOf<S extends TableSpec> {
  /** What was done. */
  readonly type: "PUT" | "UPDATE" | "DELETE";
  /** The row's key. */
  readonly key: KeyObject<S>;
  /** The columns that were written: all of a put, those changed of an update. `null`: removed. */
  readonly columns: PatchOf<S>;
  /** Goes on behind this change: `changes({ after })`. */
  readonly token: string;
}

/** An earlier value. */
export interface VersionOf<T> extends Omit<Cell, "value"> {
  /** The value. */
  readonly value: T;
}

/** The reads and writes of a table that a transaction has too. */
export interface Operations<S extends TableSpec> {
  /** Writes a row, and replaces the one that is there, with its history. Gives the key. No read. */
  put(row: NewRowOf<S>, options?: CallOptions): Promise<KeyObject<S>>;
  /** Writes a new row. @throws `OTSConditionCheckFail` if it is there. */
  insert(row: NewRowOf<S>, options?: CallOptions): Promise<KeyObject<S>>;
  /** Changes some columns. @throws `OTSConditionCheckFail` if there is no such row. */
  update(key: KeyOf<S>, patch: PatchOf<S>, options?: CallOptions): Promise<void>;
  /** Writes a row; of one that is there, other columns and earlier versions stay. */
  upsert(row: NewRowOf<S>, options?: CallOptions): Promise<void>;
  /** Deletes a row. It is no error if there is none. */
  delete(key: KeyOf<S>, options?: CallOptions): Promise<void>;
  /** Adds to a column, and gives the new value. A missing row begins with 0, if its other columns allow that. One step: no read before. */
  increment(key: KeyOf<S>, column: CounterOf<S>, by?: number, options?: CallOptions): Promise<number>;
  /** A row by its key, or `undefined`. */
  get(key: KeyOf<S>, options?: CallOptions): Promise<RowOf<S> | undefined>;
  /** Rows by their keys, in the order of the keys; `undefined` where there is none. */
  getMany(keys: Iterable<KeyOf<S>>, options?: CallOptions): Promise<(RowOf<S> | undefined)[]>;
}

/** The writes of a step on one table. Each is recorded, and done with the others. */
export interface StepOperations<S extends TableSpec> {
  /** Writes a row, and replaces the one that is there, with its history. */
  put(row: NewRowOf<S>): void;
  /** Writes a new row. If it is there, nothing of the step is done. */
  insert(row: NewRowOf<S>): void;
  /** Changes some columns. If there is no such row, nothing of the step is done. */
  update(key: KeyOf<S>, patch: PatchOf<S>): void;
  /** Deletes a row, if there is one. */
  delete(key: KeyOf<S>): void;
  /** Adds to a column. A missing row begins with 0, if its other columns allow that. */
  increment(key: KeyOf<S>, column: CounterOf<S>, by?: number): void;
}

/** The tables of a schema, for a step. */
export type Steps<D extends Schema> = { readonly [T in keyof D]: StepOperations<D[T]["spec"]> };

/** How an import makes rows of records. */
export interface ImportOf<S extends TableSpec>
  extends Pick<ImportOptions, "format" | "delimiter" | "header" | "comment" | "onError" | "onDuplicate" | "onProgress" | "signal"> {
  /**
   * Makes a row of a record of the file, whose values are texts (CSV) or what JSON has; `undefined` leaves it out. Without it, a record
   * must have the columns of the table.
   */
  readonly map?: (record: Readonly<Record<string, unknown>>) => NewRowOf<S> | undefined;
}

/** The indexes of a table, each a {@link Query} of its rows in the order of other columns: `db.note.by.byTitle`. */
export type IndexesOf<S extends TableSpec> = S extends TableSpec
  ? { readonly [I in keyof S["indexes"] & string]: Query<S, IndexRowOf<S, S["indexes"][I]>, readonly [...IndexKey<S["indexes"][I]>, ...KeyOrder<S>]> }
  : never;

/** A table of a schema. It is a query of all its rows, too. */
export interface Table<S extends TableSpec> extends Operations<S>, OrderedRows<S, RowOf<S>, KeyOrder<S>> {
  /** Its name. */
  readonly name: string;
  /** A row's type: `typeof schema.note.Row`. There is no value. */
  readonly Row: RowOf<S>;
  /** The indexes: rows in the order of other columns. */
  readonly by: IndexesOf<S>;
  /** Writes many rows, as fast as the store takes them; resolves when all are stored. Each row for itself. */
  putMany(rows: Iterable<NewRowOf<S>> | AsyncIterable<NewRowOf<S>>, options?: CallOptions): Promise<number>;
  /** Deletes all rows, or those of a range, in batches: `deleteAll()`. Gives their number. */
  deleteAll(options?: CallOptions): Promise<number>;
  /** All rows of the table, or one row, and again after each change. */
  watch(key?: KeyOf<S>, options?: CallOptions): LiveRowsOf<RowOf<S>>;
  /** Earlier values of a column, newest first; the first one is the value now. The column was declared with `versions`. */
  versions<N extends AttributeOf<S>>(key: KeyOf<S>, column: N, options?: CallOptions): Promise<VersionOf<ValueOf<S["columns"][N]>>[]>;
  /** Takes the newest value of a column back. Gives the one before, which is the value now; `undefined`, and nothing changes, if there is none. */
  undo<N extends AttributeOf<S>>(key: KeyOf<S>, column: N, options?: CallOptions): Promise<ValueOf<S["columns"][N]> | undefined>;
  /** What has changed, in order, and then what will. Needs `changesFor`. */
  changes(options?: {
    readonly after?: string | undefined;
    readonly once?: boolean | undefined;
    readonly signal?: AbortSignal | undefined;
  }): AsyncIterableIterator<ChangeOf<S>>;
  /**
   * Runs `work` with the rows of one partition: those whose key begins with `partition`. Its writes are stored together, at its end, or not
   * at all, if it throws. Where another one holds the partition, it waits and tries again: `work` may run more than once.
   */
  transaction<T>(partition: ValueOf<S["columns"][KeyOrder<S>[0]]>, work: (rows: Operations<S>) => Promise<T>, options?: CallOptions): Promise<T>;
  /** Rows of a CSV, JSON or NDJSON file in; also those of `export`. */
  import(source: ImportSource, options?: ImportOf<S>): Promise<ImportResult>;
  /**
   * The rows as a file: NDJSON, of which `import` makes the same rows, or another format. As {@link Database.exportRows}: values are
   * those that are stored, so a `date` is a text.
   */
  export(options?: ExportOptions): Promise<Blob>;
}

/** A schema; `define` makes it. Each member tells a table's types: `typeof schema.note.Row`. */
export type Schema<S extends Specs = Specs> = {
  readonly [T in keyof S]: { readonly Row: RowOf<S[T]>; readonly NewRow: NewRowOf<S[T]>; readonly Key: KeyObject<S[T]>; readonly spec: S[T] };
};

/** What a database with a schema has beside its tables. */
export interface SchemaDatabase {
  /** The database with the service's calls, for all that the tables do not do. */
  readonly service: Database;
  /** All tables of the schema as one file, with all versions; see {@link Database.exportInstance}. */
  export(options?: CallOptions): Promise<Blob>;
  /** Puts the rows of such a file into the tables. A row whose key is there is replaced. See {@link Database.importInstance}. */
  import(source: Blob | Response | ReadableStream<Uint8Array>, options?: CallOptions): Promise<ImportInstanceResult>;
  /** Ends this handle. A page that goes away need not. */
  close(): Promise<void>;
}

/** A database with a schema: `TypedDatabase<typeof schema>`. It has a member for each table, and those of {@link SchemaDatabase}. */
export type TypedDatabase<D extends Schema> = { readonly [T in keyof D]: Table<D[T]["spec"]> } & SchemaDatabase & {
    /**
     * Writes rows of any tables and keys in one step: all of them are stored, or none, at any crash. `record` gets the tables, and writes
     * their rows without `await`: nothing is done before it has returned. Read what it needs before. At most 200 rows and 4 MB, companions
     * counted. Ours, and local: the service has no such step.
     *
     * @throws `OTSConditionCheckFail` if a row to insert is there, or one to update is not; the hint names it.
     *
     * ```text
     * await db.atomic(({ account, log }) => {
     *   account.increment("ann", "balance", -10);
     *   account.increment("bob", "balance", 10);
     *   log.insert({ id: 7, what: "ann to bob" });
     * });
     * ```
     */
    atomic(record: (steps: Steps<D>) => void, options?: CallOptions): Promise<void>;
  };

/** Changes of what is stored, each by its name, in their order. */
export type Migrations<D extends Schema> = Readonly<Record<string, (db: TypedDatabase<D>) => Promise<unknown>>>;

/** Options of `open` with a schema. */
export interface SchemaOptions<D extends Schema> extends OpenOptions {
  /** The tables. What is missing is made; what differs and cannot be changed is refused by name. */
  readonly schema: D;
  /**
   * What must be done to stored rows, once: each runs once over all tabs and reloads, after the tables are there and before `open`
   * resolves. One that fails fails `open`, and runs again the next time: it must bear that.
   */
  readonly migrations?: Migrations<D> | undefined;
}
