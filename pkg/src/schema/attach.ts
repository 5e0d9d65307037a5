/** Makes the tables of a schema in a database that is opened, and hands them out. */

import { spelt, untilBuilt } from "../beside-tables.js";
import type { CallOptions } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { OpenOptions } from "../types/rows.js";
import type { CreateTableRequest, IndexSpec, TableDescription, UpdateTableRequest } from "../types/tables.js";
import type { Double } from "../types/double.js";
import { Context } from "./context.js";
import type { Layout } from "./layout.js";
import { RowCodec } from "./row-codec.js";
import { SchemaTable } from "./table.js";

/** What an entry of the package hands over when it opens a database with a schema. */
export interface Attaching {
  /** Opens the database. */
  readonly open: (options: OpenOptions) => Promise<Database>;
  /** The options of the caller. */
  readonly options: OpenOptions & { readonly schema: unknown; readonly migrations?: Readonly<Record<string, (db: object) => Promise<unknown>>> | undefined };
  /** Marks a number as a Double of this entry. */
  readonly double: (value: number) => Double;
}

/** Tries to change a table that other tabs change too. */
const TRIES = 5;

/** Opens the database, makes what its schema lacks, and gives the tables. */
export async function attach(layouts: readonly Layout[], { open, options, double }: Attaching): Promise<object> {
  const { schema: _, migrations, ...plain } = options;
  const db = await open(plain);
  try {
    const context = new Context(db, double);
    await Promise.all(
      layouts.flatMap(({ request, companion, versioned }) => [
        prepare(context, request, companion === undefined ? undefined : [...versioned][0]),
        ...(companion === undefined ? [] : [prepare(context, companion)]),
      ]),
    );
    const beside = layouts.some(({ companion }) => companion !== undefined) ? await loaded(context, "history", import("./history.js")) : undefined;
    const tables = Object.fromEntries(layouts.map((layout) => [layout.name, new SchemaTable(new RowCodec(context, layout), beside)]));
    const typed = Object.freeze({
      ...tables,
      service: db,
      close: () => db.close(),
      atomic: async (record: unknown, call?: CallOptions) =>
        (await loaded(context, "steps", import("./steps.js"))).atomic(context, Object.values(tables), record, call),
      export: async (call: CallOptions = {}) => {
        const tables = layouts.flatMap(({ request, companion }) => [request.tableName, ...(companion === undefined ? [] : [companion.tableName])]);
        const file = await new Response(await db.exportInstance({ ...call, tables, azure: "leaveOut" })).blob();
        return file.slice(0, file.size, "application/x-ndjson");
      },
      import: (source: Blob, call: CallOptions = {}) => db.importInstance(source, { ...call, existing: "merge" }),
    });
    if (migrations !== undefined) await (await loaded(context, "migrations", import("./migrations.js"))).migrate(context, typed, migrations);
    return typed;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Code that only some schemas need. */
async function loaded<T>(context: Context, name: string, code: Promise<T>): Promise<T> {
  try {
    return await code;
  } catch (error) {
    const hint = `It lies beside the file of tabstore/schema, under a name that begins with ${name}.`;
    throw context.error("Unavailable", `A part of TabStore could not be loaded: ${String(error)}.`, hint, { status: 503 });
  }
}

/** Makes a table, or changes the one that is there until it has what the schema says. `beside`: a column whose versions are in a companion. */
async function prepare(context: Context, request: CreateTableRequest, beside?: string): Promise<void> {
  const { db } = context;
  for (let tries = 1; ; tries++) {
    const there = await described(context, request.tableName);
    try {
      if (there === undefined) await db.createTable(request);
      else if (!(await change(context, request, there, beside)))
        return await untilBuilt(
          (request.indexes ?? []).map(({ indexName }) => indexName),
          () => context.db.describeTable(request.tableName),
          there,
        );
    } catch (error) {
      // Another tab may have done the same: it is looked at again.
      if (tries === TRIES || !context.isFailure(error, "OTSObjectAlreadyExist", "OTSParameterInvalid", "OTSObjectNotExist")) throw error;
    }
    if (tries === TRIES)
      throw context.error(
        "SchemaMismatch",
        `The table '${request.tableName}' changes while it is prepared.`,
        "Do tabs with two releases of the application have different schemas of it?",
      );
  }
}

async function described(context: Context, tableName: string): Promise<TableDescription | undefined> {
  try {
    return await context.db.describeTable(tableName);
  } catch (error) {
    if (context.isFailure(error, "OTSObjectNotExist")) return undefined;
    throw error;
  }
}

/** Makes one change that the table needs; tells whether there was one. Throws where it cannot be changed. */
async function change(context: Context, wanted: CreateTableRequest, there: TableDescription, beside: string | undefined): Promise<boolean> {
  const { db } = context;
  const { tableName } = wanted;
  const differs = (what: string, hint = "Give the table another name, and copy its rows in a migration; or delete it."): Error =>
    context.error("SchemaMismatch", `The table '${tableName}' is there, and ${what}.`, hint);
  if (there.indexOf !== null) throw differs(`it is an index of the table '${there.indexOf}'`);
  if (spelt(there.primaryKey) !== spelt(wanted.primaryKey)) throw differs(`its key is (${spelt(there.primaryKey)}), not (${spelt(wanted.primaryKey)})`);
  // With an index it would lose them.
  if (beside !== undefined && there.maxVersions > 1) throw differs(`it keeps versions of '${beside}' itself, which a table with indexes cannot`);
  const columns = (wanted.definedColumns ?? []).filter(({ name, type }) => {
    const found = there.definedColumns.find((one) => one.name === name);
    if (found !== undefined && found.type !== type) throw differs(`its column '${name}' is defined as ${found.type}, not ${type}`);
    return found === undefined;
  });
  const update = differentOptions(wanted, there);
  if (update !== undefined) await db.updateTable(update);
  if (columns.length > 0) await db.addDefinedColumn({ tableName, columns });
  const old = (wanted.indexes ?? []).map((index) => ({ index, found: there.indexes.find(({ indexName }) => indexName === index.indexName) }));
  const outdated = old.find(({ index, found }) => found !== undefined && !holds(found, index));
  if (outdated !== undefined) await db.dropIndex({ tableName, indexName: outdated.index.indexName });
  const missing = old.filter(({ found }) => found === undefined);
  for (const { index } of missing) await db.createIndex({ tableName, index });
  return update !== undefined || columns.length > 0 || outdated !== undefined || missing.length > 0;
}

/** Whether an index has the wanted key, and at least the wanted columns. */
function holds(found: TableDescription["indexes"][number], wanted: IndexSpec): boolean {
  return found.primaryKey.join("\n") === wanted.primaryKey.join("\n") && (wanted.columns ?? []).every((name) => found.columns.includes(name));
}

/** Options that can be changed, and differ. A stream that the schema does not name may stay. */
function differentOptions(wanted: CreateTableRequest, there: TableDescription): UpdateTableRequest | undefined {
  const update: { -readonly [name in keyof UpdateTableRequest]: UpdateTableRequest[name] } = { tableName: wanted.tableName };
  if (wanted.maxVersions !== there.maxVersions) update.maxVersions = wanted.maxVersions;
  if (wanted.timeToLive !== there.timeToLive) update.timeToLive = wanted.timeToLive;
  if (wanted.stream?.enabled === true && there.stream?.expirationHours !== wanted.stream.expirationHours) update.stream = wanted.stream;
  return Object.keys(update).length > 1 ? update : undefined;
}
