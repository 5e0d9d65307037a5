/** Identifiers of timelines, and the tables that have them as their key. */

import { KEY_BYTES, spelt } from "../beside-tables.js";
import { kindOf } from "../codec/kinds.js";
import type { CallOptions, CreateTableRequest, KeyValue, TableDescription } from "../index.js";
import type { Host } from "./check.js";
import type { IdentifierColumn, TimelineIdentifier } from "./types.js";

const COLUMN = ["name", "type"];

/** The columns of an identifier: checks the schema, then identifiers. */
export class IdentifierCodec {
  readonly columns: readonly IdentifierColumn[];

  constructor(
    private readonly host: Host,
    private readonly tableName: string,
    given: unknown,
    most: number,
  ) {
    const columns = host.array(given, "identifier") as IdentifierColumn[];
    if (columns.length < 1 || columns.length > most) {
      throw host.error("OTSParameterInvalid", `The identifier of '${tableName}' has ${columns.length} columns; it must have 1 to ${most}.`);
    }
    const names = new Set<string>();
    this.columns = columns.map((column, index) => {
      const { name, type } = host.options(column, COLUMN, `identifier[${index}]`);
      host.text(name, `identifier[${index}].name`);
      host.check(type, ["STRING", "INTEGER", "BINARY"], `identifier[${index}].type`);
      if (names.has(name)) throw host.error("OTSParameterInvalid", `The identifier of '${tableName}' has the column '${name}' twice.`);
      names.add(name);
      return { name, type };
    });
  }

  /** A copy of an identifier, in the order of the schema. */
  take(given: unknown, path = "identifier"): TimelineIdentifier {
    if (typeof given !== "object" || given === null || Array.isArray(given)) throw this.host.wrong(path, kindOf(given), `an object with ${this.expected()}`);
    const values = given as Readonly<Record<string, unknown>>;
    const extra = Object.keys(values).find((name) => !this.columns.some((column) => column.name === name));
    if (extra !== undefined) {
      throw this.host.error("OTSParameterInvalid", `Unknown column '${extra}' in '${path}'. The identifier of '${this.tableName}' has ${this.expected()}.`);
    }
    return Object.freeze(
      Object.fromEntries(
        this.columns.map(({ name, type }) => {
          const value = values[name];
          if (!this.host.isKey(value, type))
            throw this.host.wrong(`${path}.${name}`, kindOf(value), type === "INTEGER" ? "an integer" : type === "STRING" ? "a string" : "a Uint8Array");
          const length = typeof value === "string" && 3 * value.length > KEY_BYTES ? new TextEncoder().encode(value).length : (value as Uint8Array).length;
          // One key that is too long would cost all rows of its batch.
          if (length > KEY_BYTES)
            throw this.host.error(
              "OTSParameterInvalid",
              `The length of primary key column: '${name}' exceeds the MaxLength:${KEY_BYTES} with CurrentLength:${length}.`,
            );
          return [name, typeof value === "object" ? new Uint8Array(value as Uint8Array) : (value as KeyValue)];
        }),
      ),
    );
  }

  /** The identifier in the key of a row. */
  of(key: TimelineIdentifier): TimelineIdentifier {
    return Object.fromEntries(this.columns.map(({ name }) => [name, key[name]]));
  }

  private expected(): string {
    return this.columns.map(({ name, type }) => `${name} (${type})`).join(", ");
  }
}

/** Makes a table, or finds it with the same key and, if one is given, the same time to live. Gives it if it was there. */
export async function prepare(host: Host, request: CreateTableRequest, { signal }: CallOptions): Promise<TableDescription | undefined> {
  const { tableName, primaryKey, timeToLive } = request;
  try {
    await host.db.createTable({ ...request, signal });
    return undefined;
  } catch (error) {
    if (!host.isFailure(error, "OTSObjectAlreadyExist")) throw error;
  }
  const there = await host.db.describeTable({ tableName, signal });
  const other = (what: string, hint: string): Error =>
    host.error("OTSObjectAlreadyExist", `The table '${tableName}' is there already, with another ${what} than that of the schema.`, hint);
  if (there.indexOf !== null) throw other("use", `The table '${tableName}' is an index of '${there.indexOf}'.`);
  if (spelt(there.primaryKey) !== spelt(primaryKey))
    throw other("primary key", `Table '${tableName}': expected ${spelt(primaryKey)}, found ${spelt(there.primaryKey)}.`);
  // A table of an earlier version takes chosen ids anyway.
  if (primaryKey.at(-1)?.allowChosen && !there.primaryKey.at(-1)?.allowChosen) throw other("primary key", `Table '${tableName}' was made without allowChosen.`);
  if (timeToLive !== undefined && timeToLive !== there.timeToLive) {
    throw other(
      "time to live",
      `Table '${tableName}': expected ${timeToLive}, found ${there.timeToLive}. Change it by updateTable({ tableName: "${tableName}", timeToLive: ${timeToLive} }).`,
    );
  }
  return there;
}

/** Deletes a table, if there is one. */
export async function drop(host: Host, tableName: string, { signal }: CallOptions): Promise<void> {
  await host.db.deleteTable({ tableName, signal }).catch((error: unknown) => {
    if (!host.isFailure(error, "OTSObjectNotExist")) throw error;
  });
}
