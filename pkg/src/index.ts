/**
 * TabStore: a wide-column database in a browser tab.
 *
 * This module is all three entries of the package; the build gives each its platform. `tabstore` is for bundlers that
 * know `new URL(…, import.meta.url)`: Vite 8 and webpack 5 take it unconfigured. `tabstore/inline` has worker and
 * WebAssembly module in one file: for esbuild, Vite 7 and older, and plain `<script type="module">` pages. Node and Deno
 * use the third.
 *
 * Importing it touches no global and does no work, so it is safe in server rendering.
 *
 * @module
 */

import { loadCode } from "./client/code.js";
import { createOn, deleteOn, describeOn, listOn } from "./open/instances.js";
import type { Database } from "./types/database.js";
import type { ImportPreview, InspectOptions } from "./types/writer.js";
import { openOn } from "./open/open.js";
import type { Schema, SchemaOptions, TypedDatabase } from "./schema/types.js";
import { double } from "./types/double.js";
import { platform } from "./platform/browser.js";
import type { CreateInstanceOptions, InstanceCallOptions, InstanceDescription, OpenOptions } from "./types/rows.js";

/** The method of a schema that makes its tables: see schema/define.ts, which comes with the entry `tabstore/schema`. */
const ATTACH = Symbol.for("tabstore.schema");

/** Options with a schema. */
interface WithSchema {
  readonly schema: { readonly [ATTACH]?: (attaching: object) => Promise<unknown> };
}

export { TabStoreError } from "./types/errors.js";
export { col } from "./types/filter.js";
export type {
  BuiltColumnFilter,
  CastType,
  Column,
  ColumnFilter,
  ColumnFilterOptions,
  Comparator,
  Comparisons,
  CompositeFilter,
  Filter,
  FilterBuilder,
  PageFilter,
  ValueTransferRule,
} from "./types/filter.js";
export type * from "./types/consumer.js";
export type * from "./types/database.js";
export type * from "./types/events.js";
export type * from "./types/export.js";
export type * from "./types/storage.js";
export { init } from "./platform/loader.js";
export type * from "./types/writer.js";
export type * from "./types/management.js";
export type * from "./types/metrics.js";
export type { Row } from "./types/row.js";
export type * from "./types/inspect.js";
export type * from "./types/live.js";
export type * from "./types/streams.js";
export type * from "./types/tables.js";
export type * from "./types/transaction.js";
export type * from "./types/rows.js";
export { Double, double } from "./types/double.js";
export { AUTO_INCREMENT, INF_MAX, INF_MIN } from "./types/values.js";
export type { AutoIncrement, InfMax, InfMin } from "./types/values.js";
export { WriterError } from "./types/writer-error.js";
export type { WriterFailure } from "./types/writer-error.js";

/**
 * Opens an instance, and creates it if there is none [I1]. Names are 3 to 16 bytes of letters, digits and `-`, first a
 * letter, last no `-`; they are compared without case [I2].
 *
 * Handles on one instance share one engine, which is closed with the last of them. If another tab has it, this one
 * follows ({@link Database.role}).
 *
 * @throws `Busy` when another tab has it and does not share it, or for files another process; `Unavailable` where there is no
 * IndexedDB, for files no dedicated worker or no such files, no `crypto.getRandomValues` or, with `worker: true`, no `Worker`, or the
 * package's files cannot be loaded;
 * `OTSParameterInvalid` for a wrong name or option, and for an option other than that of the engine that this page or
 * another tab has; `OTSObjectNotExist` with `create: false`; `OTSQuotaExhausted` for an 11th instance [I3]; `Corrupt` for
 * damaged data; `DataLost` for data that the browser has lost. With `signal`, its reason, once the opening has been undone.
 * @example
 * ```ts
 * const db = await open("demo");
 * ```
 *
 * With a schema of `tabstore/schema` it makes the tables that are missing, adds indexes and columns, and gives typed tables.
 * `SchemaMismatch` says by name what differs and cannot be changed.
 */
export function open<D extends Schema>(name: string, options: SchemaOptions<D>): Promise<TypedDatabase<D>>;
export function open(name: string, options?: OpenOptions): Promise<Database>;
export function open(name: string, options?: OpenOptions & Partial<WithSchema>): Promise<unknown> {
  const attach = options?.schema?.[ATTACH];
  return attach === undefined ? openOn(platform, name, options) : attach({ options, double, open: (plain: OpenOptions) => openOn(platform, name, plain) });
}

/**
 * The instances of this origin, sorted by name [I1]: those in IndexedDB, or in files if asked for. @throws `Unavailable` where there
 * is no such storage.
 */
export function listInstances(options?: InstanceCallOptions): Promise<InstanceDescription[]> {
  return listOn(platform, options);
}

/** Creates an instance without opening it [I1]. @throws `OTSObjectAlreadyExist`; `OTSQuotaExhausted` for an 11th [I3]. */
export function createInstance(name: string, options?: CreateInstanceOptions): Promise<void> {
  return createOn(platform, name, options);
}

/**
 * The description of an instance, without opening it [I1]. @throws `OTSObjectNotExist`; `OTSParameterInvalid` for a wrong name;
 * `Unavailable`.
 */
export function describeInstance(name: string, options?: InstanceCallOptions): Promise<InstanceDescription> {
  return describeOn(platform, name, options);
}

/**
 * Deletes an instance and everything in it [I1]. If its signal aborts, it rejects when the started deletion is over,
 * after two seconds at most. @throws `OTSObjectNotExist`; `OTSParameterInvalid` for a wrong name; `Busy`
 * while it is open anywhere; `Unavailable`.
 */
export function deleteInstance(name: string, options?: InstanceCallOptions): Promise<void> {
  return deleteOn(platform, name, options);
}

/**
 * Reads the beginning of a CSV, JSON or NDJSON file: its columns, with a legal name [T2] and the narrowest type for each.
 * Use it to let a person choose before {@link Database.importRows}. It uses up a stream or response.
 *
 * `rows` is the number of rows to read, 10,000 by default. Later rows may have other values, unless the result is `whole`.
 *
 * @example
 * ```ts
 * const { columns } = await inspectImport(file);
 * await db.importRows("movie", file, { rowNumber: "id",
 *   columns: Object.fromEntries(columns.map(({ source, name, type }) => [source, { name, type }])) });
 * ```
 */
export async function inspectImport(source: Blob | Response | ReadableStream<Uint8Array>, options?: InspectOptions): Promise<ImportPreview> {
  const { inspectImport: inspect } = await loadCode(import("./import/index.js"));
  return inspect(source, options);
}
