/** A store of metas: one row for each timeline, found by its identifier or through an index. */

import type { CallOptions, ColumnFilter, DefinedColumn, Filter, KeyValue, PrimaryKey, RangeKey, Row } from "../index.js";
import { INF_MAX, INF_MIN } from "../types/values.js";
import { untilBuilt } from "../beside-tables.js";
import { kindOf } from "../codec/kinds.js";
import type { Host } from "./check.js";
import { FieldCodec } from "./fields.js";
import { drop, IdentifierCodec, prepare } from "./keys.js";
import { CONDITION, SIGNAL } from "./queue.js";
import type {
  ConditionOptions,
  FieldRange,
  NewMessage,
  SearchOptions,
  TimelineIdentifier,
  TimelineMeta,
  TimelineMetaIndex,
  TimelineMetaSchema,
  TimelineMetaStore,
} from "./types.js";

const SCHEMA = ["tableName", "identifier", "definedColumns", "indexes", "lists"];
const INDEX = ["indexName", "primaryKey"];
const SEARCH = ["where", "direction", "maxCount", "signal"];
const RANGE = ["from", "to"];
/** Metas that one call reads from the table. */
const PAGE_ROWS = 100;

/** A way to metas: the table itself or an index, with all key columns. */
interface Way {
  readonly tableName: string;
  readonly key: readonly string[];
}

/** What is searched: fields with their values, and at most one with a range. */
interface Wanted {
  readonly equal: ReadonlyMap<string, KeyValue>;
  readonly ranged: string | undefined;
  readonly range: FieldRange;
}

/** A {@link TimelineMetaStore}. */
export class MetaStore<M> implements TimelineMetaStore<M> {
  readonly tableName: string;
  private readonly identifiers: IdentifierCodec;
  private readonly fields: FieldCodec;
  private readonly definedColumns: readonly DefinedColumn[];
  private readonly indexes: readonly TimelineMetaIndex[];
  private readonly names: readonly string[];

  constructor(
    private readonly host: Host,
    schema: TimelineMetaSchema,
  ) {
    const { tableName, identifier, definedColumns, indexes, lists } = host.options(schema ?? null, SCHEMA, "schema");
    host.text(tableName, "tableName");
    this.tableName = tableName;
    this.identifiers = new IdentifierCodec(host, tableName, identifier, 4);
    this.names = this.identifiers.columns.map(({ name }) => name);
    this.fields = new FieldCodec(host, lists);
    this.definedColumns = definedColumns === undefined ? [] : (host.array(definedColumns, "definedColumns") as DefinedColumn[]);
    this.indexes = (indexes === undefined ? [] : host.array(indexes, "indexes")).map((index, at) => {
      const { indexName, primaryKey } = host.options((index ?? null) as TimelineMetaIndex, INDEX, `indexes[${at}]`);
      host.text(indexName, `indexes[${at}].indexName`);
      const key = host.array(primaryKey, `indexes[${at}].primaryKey`);
      key.forEach((name, column) => host.text(name, `indexes[${at}].primaryKey[${column}]`));
      return { indexName, primaryKey: key as string[] };
    });
  }

  async prepareTables(options?: CallOptions): Promise<void> {
    const { host, tableName, definedColumns, indexes } = this;
    const { signal } = host.options(options, SIGNAL, "prepareTables");
    const there = await prepare(host, { tableName, primaryKey: this.identifiers.columns, definedColumns, indexes, maxVersions: 1 }, { signal });
    if (there === undefined) return;
    for (const { indexName, primaryKey } of indexes) {
      const index = there.indexes.find((one) => one.indexName === indexName);
      if (index !== undefined && index.primaryKey.join() !== primaryKey.join()) {
        throw host.error(
          "OTSObjectAlreadyExist",
          `The index '${indexName}' of '${tableName}' is there already, with other columns than those of the schema.`,
          `Index '${indexName}': expected ${primaryKey.join(", ")}, found ${index.primaryKey.join(", ")}.`,
        );
      }
    }
    for (const { name, type } of definedColumns) {
      const column = there.definedColumns.find((one) => one.name === name);
      if (column !== undefined && column.type !== type) {
        throw host.error(
          "OTSObjectAlreadyExist",
          `The column '${name}' of '${tableName}' is defined already, with another type than that of the schema.`,
          `Column '${name}': expected ${type}, found ${column.type}.`,
        );
      }
    }
    const columns = definedColumns.filter(({ name }) => !there.definedColumns.some((one) => one.name === name));
    if (columns.length > 0)
      await this.unlessDone(
        host.db.addDefinedColumn({ tableName, columns, signal }),
        async () => (await this.describe(signal)).definedColumns.map(({ name }) => name),
        columns.map(({ name }) => name),
      );
    for (const index of indexes) {
      if (there.indexes.some(({ indexName }) => indexName === index.indexName)) continue;
      await this.unlessDone(
        host.db.createIndex({ tableName, index, signal }),
        async () => (await this.describe(signal)).indexes.map(({ indexName }) => indexName),
        [index.indexName],
      );
    }
    await this.built(signal);
  }

  async dropAllTables(options?: CallOptions): Promise<void> {
    await drop(this.host, this.tableName, this.host.options(options, SIGNAL, "dropAllTables"));
  }

  async read(identifier: TimelineIdentifier, options?: CallOptions): Promise<M | null> {
    const { signal } = this.host.options(options, SIGNAL, "read");
    const { row } = await this.host.db.getRow({ tableName: this.tableName, primaryKey: this.identifiers.take(identifier), signal });
    return row === null ? null : (this.fields.decode(row) as M);
  }

  async insert(identifier: TimelineIdentifier, meta: NewMessage<M>, options?: ConditionOptions): Promise<void> {
    const { condition, signal } = this.host.options(options, CONDITION, "insert");
    await this.host.db.putRow({
      tableName: this.tableName,
      primaryKey: this.identifiers.take(identifier),
      attributes: this.fields.encode(meta, "meta"),
      condition,
      signal,
    });
  }

  async update(identifier: TimelineIdentifier, fields: Partial<NewMessage<M>>, options?: ConditionOptions): Promise<void> {
    const { condition, signal } = this.host.options(options, CONDITION, "update");
    await this.host.db.updateRow({
      tableName: this.tableName,
      primaryKey: this.identifiers.take(identifier),
      put: this.fields.encode(fields, "fields"),
      condition,
      signal,
    });
  }

  async delete(identifier: TimelineIdentifier, options?: ConditionOptions): Promise<void> {
    const { condition, signal } = this.host.options(options, CONDITION, "delete");
    await this.host.db.deleteRow({ tableName: this.tableName, primaryKey: this.identifiers.take(identifier), condition, signal });
  }

  async *search(options?: SearchOptions): AsyncGenerator<TimelineMeta<M>, void, undefined> {
    const { host } = this;
    const { where = {}, direction = "FORWARD", maxCount, signal } = host.options(options, SEARCH, "search");
    host.check(direction, ["FORWARD", "BACKWARD"], "direction");
    let left = host.maxCount(maxCount, true);
    const wanted = this.wanted(where);
    const way = this.way(wanted);
    const filter = this.filterOf(wanted);
    for await (const keys of this.found(way, wanted, direction, left, signal)) {
      const rows = keys.rows ?? (await this.whole(keys.keys, filter, signal));
      for (const row of rows) {
        if (left === 0) return;
        left -= 1;
        yield { identifier: this.identifiers.of(row.primaryKey), meta: this.fields.decode(row) as M };
      }
    }
  }

  /** Rows of the table, or keys of rows that an index has, some at a time. */
  private async *found(
    { tableName, key }: Way,
    wanted: Wanted,
    direction: "FORWARD" | "BACKWARD",
    left: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<{ rows?: readonly Row[]; keys: readonly PrimaryKey[] }, void, undefined> {
    // All of one key: a range from it to it would be empty.
    if (wanted.equal.size === key.length) {
      yield { keys: [this.identifiers.of(Object.fromEntries(wanted.equal))] };
      return;
    }
    const end = (bound: KeyValue | undefined, rest: typeof INF_MIN | typeof INF_MAX): RangeKey =>
      Object.fromEntries(
        key.map((name, at) => {
          const value = wanted.equal.get(name) ?? (at === wanted.equal.size ? bound : undefined);
          // Behind a bound every key is on one side of it.
          return [name, value ?? (at > wanted.equal.size && bound !== undefined ? INF_MIN : rest)];
        }),
      );
    const [low, high] = [end(wanted.range.from, INF_MIN), end(wanted.range.to, INF_MAX)];
    const [start, stop] = direction === "FORWARD" ? [low, high] : [high, low];
    const inTable = tableName === this.tableName;
    const pageRows = Math.min(left, PAGE_ROWS);
    for await (const rows of this.host.db.scanPages({ tableName, direction, start, end: stop, pageRows, signal })) {
      yield inTable ? { rows, keys: [] } : { keys: rows.map(({ primaryKey }) => this.identifiers.of(primaryKey)) };
    }
  }

  /** The rows of these keys that still pass. */
  private async whole(primaryKeys: readonly PrimaryKey[], filter: Filter | undefined, signal: AbortSignal | undefined): Promise<Row[]> {
    const [results] = await this.host.db.batchGetRow([{ tableName: this.tableName, primaryKeys, filter }], { signal });
    return results.flatMap((result) => {
      if (!result.ok) throw result.error;
      return result.row === null ? [] : [result.row];
    });
  }

  private wanted(where: unknown): Wanted {
    const { host } = this;
    if (typeof where !== "object" || where === null || Array.isArray(where)) throw host.wrong("where", kindOf(where), "an object of fields");
    const equal = new Map<string, KeyValue>();
    let ranged: string | undefined;
    let range: FieldRange = {};
    for (const [name, value] of Object.entries(where as Readonly<Record<string, unknown>>)) {
      if (host.isKey(value, "STRING") || host.isKey(value, "INTEGER") || host.isKey(value, "BINARY")) {
        equal.set(name, value as KeyValue);
        continue;
      }
      if (typeof value !== "object" || value === null)
        throw host.wrong(`where.${name}`, kindOf(value), "a string, an integer, a Uint8Array or a range of them");
      if (ranged !== undefined) throw host.error("OTSParameterInvalid", `The fields '${ranged}' and '${name}' of 'where' are both ranges; only one may be.`);
      ranged = name;
      range = host.options(value as FieldRange, RANGE, `where.${name}`);
    }
    return { equal, ranged, range };
  }

  /** The table or the index whose key begins with the searched fields. */
  private way({ equal, ranged }: Wanted): Way {
    const ways: Way[] = [{ tableName: this.tableName, key: this.names }];
    for (const { indexName, primaryKey } of this.indexes)
      ways.push({ tableName: indexName, key: [...primaryKey, ...this.names.filter((name) => !primaryKey.includes(name))] });
    const way = ways.find(
      ({ key }) =>
        key.slice(0, equal.size).every((name) => equal.has(name)) && equal.size <= key.length && (ranged === undefined || key[equal.size] === ranged),
    );
    if (way !== undefined) return way;
    const fields = [...equal.keys(), ...(ranged === undefined ? [] : [ranged])];
    const has = this.indexes.map(({ indexName, primaryKey }) => `${indexName} (${primaryKey.join(", ")})`).join(", ");
    throw this.host.error(
      "OTSParameterInvalid",
      `The meta store '${this.tableName}' has no index that begins with ${fields.map((name) => `'${name}'`).join(", ")}.`,
      `Add to 'indexes' of the schema { indexName, primaryKey: [${fields.map((name) => `"${name}"`).join(", ")}] }, and to 'definedColumns' its fields. There are: ${has === "" ? "none" : has}.`,
    );
  }

  /** What the fields must pass when they are read: they may have changed since the index was. */
  private filterOf({ equal, ranged, range }: Wanted): Filter | undefined {
    const filters: ColumnFilter[] = [];
    const add = (column: string, comparator: ColumnFilter["comparator"], value: KeyValue): void => {
      filters.push({ column, comparator, value, passIfMissing: false });
    };
    for (const [name, value] of equal) add(name, "EQUAL", value);
    if (ranged !== undefined && range.from !== undefined) add(ranged, "GREATER_EQUAL", range.from);
    if (ranged !== undefined && range.to !== undefined) add(ranged, "LESS_THAN", range.to);
    return filters.length < 2 ? filters[0] : { operator: "AND", filters };
  }

  private describe(signal: AbortSignal | undefined): ReturnType<Host["db"]["describeTable"]> {
    return this.host.db.describeTable({ tableName: this.tableName, signal });
  }

  /** Awaits a change; another tab may have made it first. */
  private async unlessDone(change: Promise<void>, there: () => Promise<string[]>, wanted: readonly string[]): Promise<void> {
    try {
      await change;
    } catch (error) {
      if (!this.host.isFailure(error, "OTSObjectAlreadyExist", "OTSParameterInvalid")) throw error;
      const names = await there();
      if (!wanted.every((name) => names.includes(name))) throw error;
    }
  }

  /** Waits until all indexes can be read. */
  private built(signal: AbortSignal | undefined): Promise<void> {
    return untilBuilt(
      this.indexes.map(({ indexName }) => indexName),
      () => this.describe(signal),
    );
  }
}
