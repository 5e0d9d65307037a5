/** A table of a schema: rows by their keys. */

import { kindOf, shown } from "../codec/kinds.js";
import type { CallOptions, InputPrimaryKey, PrimaryKey } from "../types/data.js";
import type { Database } from "../types/database.js";
import type { Transaction } from "../types/transaction.js";
import type { ExportOptions } from "../types/export.js";
import type { LiveCount } from "../types/live.js";
import type { Change } from "../types/streams.js";
import type { Condition, PutRowRequest } from "../types/rows.js";
import type { ImportOptions, ImportResult, ImportSource, NewRow } from "../types/writer.js";
import { AUTO_INCREMENT } from "../types/values.js";
import type { HistoryStore, Store } from "./history.js";
import { Lanes } from "./lanes.js";
import { LiveRows } from "./live-rows.js";
import type { Field } from "./layout.js";
import { OrderedQuery } from "./query.js";
import type { RowCodec } from "./row-codec.js";
import type { LiveRowsOf, VersionOf } from "./types.js";

type AnyRow = Record<string, unknown>;

const MISSING = "there is no such row. insert, put and upsert make one.";
const THERE_ALREADY = "there is such a row. put replaces it, update and upsert change it.";
const NEW: Condition = { rowExistence: "EXPECT_NOT_EXIST" };
const THERE: Condition = { rowExistence: "EXPECT_EXIST" };
/** Keys of one read, at most [R7]. */
const KEYS = 100;
/** Tries of a transaction that another one keeps out. With the waits below that is some seconds. */
const TRIES = 12;
/** Rows on their way where each has a companion. */
const TOGETHER = 100;
/** The media types of exports, by which an import knows their format. */
const FILE_TYPES = { ndjson: "application/x-ndjson", json: "application/json", csv: "text/csv" } as const;
const BUSY = ["OTSRowOperationConflict", "OTSSessionNotExist"];

/** Whether a record is a row of an export: a key and attributes, and nothing else. */
const isExact = (record: AnyRow): boolean =>
  Object.keys(record).length === 2 && Object(record.primaryKey) === record.primaryKey && Object(record.attributes) === record.attributes;

/** Reads and writes of single rows. */
class RowOperations {
  constructor(
    readonly codec: RowCodec,
    private readonly store: Store,
  ) {}

  put(row: unknown, options?: CallOptions): Promise<AnyRow> {
    return this.write(row, options);
  }

  insert(row: unknown, options?: CallOptions): Promise<AnyRow> {
    return this.write(row, options, NEW);
  }

  async update(key: unknown, patch: unknown, options?: CallOptions): Promise<void> {
    const primaryKey = this.codec.key(key);
    const request = { tableName: this.tableName, primaryKey, ...this.codec.patch(patch), condition: THERE, signal: options?.signal };
    await this.explained(this.store.updateRow(request), primaryKey, MISSING);
  }

  async upsert(row: unknown, options?: CallOptions): Promise<void> {
    const { primaryKey, attributes: put } = this.codec.put(row);
    const { auto } = this.codec.layout;
    const request = { tableName: this.tableName, primaryKey, signal: options?.signal };
    const left = this.codec.leftToDefaults(row as AnyRow);
    if (left.length === 0 || (auto !== undefined && primaryKey[auto] === AUTO_INCREMENT)) {
      await this.store.updateRow({ ...request, put });
      return;
    }
    // Only a new row begins with its defaults: what another one has of them stays.
    const given = Object.fromEntries(Object.entries(put).filter(([name]) => !left.includes(name)));
    for (let tries = 1; ; tries++) {
      if (Object.keys(given).length > 0 && (await this.isMet(this.store.updateRow({ ...request, put: given, condition: THERE })))) return;
      const isNew = this.store.updateRow({ ...request, put, condition: NEW });
      if (tries === TRIES) await isNew;
      if ((await this.isMet(isNew)) || Object.keys(given).length === 0) return;
    }
  }

  async delete(key: unknown, options?: CallOptions): Promise<void> {
    await this.store.deleteRow({ tableName: this.tableName, primaryKey: this.codec.key(key), signal: options?.signal });
  }

  async increment(key: unknown, column: string, by: number = 1, options?: CallOptions): Promise<number> {
    const field = this.attribute(column);
    const {
      layout: { name, attributes },
      context,
    } = this.codec;
    if (field.column.stored !== "INTEGER")
      throw context.error("OTSParameterInvalid", `The column '${column}' of '${name}' is a ${field.column.stored}; only integers are incremented.`);
    if (!Number.isSafeInteger(by)) throw context.wrong("by", typeof by === "number" ? shown(by) : kindOf(by), "an integer");
    // A row that lacks what each row must have could not be read.
    const needed = attributes.some((one) => one !== field && one.column.presence === "required");
    const primaryKey = this.codec.key(key);
    const call = this.store.updateRow({
      tableName: this.tableName,
      primaryKey,
      increment: { [column]: by },
      returnContent: { afterModify: [column] },
      condition: needed ? THERE : undefined,
      signal: options?.signal,
    });
    const { row } = await this.explained(call, primaryKey, MISSING);
    return this.codec.decode(field, row!.get(column)!) as number;
  }

  get(key: unknown, options?: CallOptions): Promise<AnyRow | undefined> {
    try {
      const request = { tableName: this.tableName, primaryKey: this.codec.key(key) };
      return this.store
        .getRow(options?.signal === undefined ? request : { ...request, signal: options.signal })
        .then(({ row }) => (row === null ? undefined : this.codec.row(row)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  getMany(keys: Iterable<unknown>, options?: CallOptions): Promise<(AnyRow | undefined)[]> {
    return Promise.all([...keys].map((key) => this.get(key, options)));
  }

  /** Whether a call's condition is met. */
  private async isMet(call: Promise<unknown>): Promise<boolean> {
    try {
      await call;
      return true;
    } catch (error) {
      if (!this.codec.context.isFailure(error, "OTSConditionCheckFail")) throw error;
      return false;
    }
  }

  /** The result of a call. Its condition is the library's own, so an error of it says what that is. */
  private explained<T>(call: Promise<T>, key: PrimaryKey, hint: string): Promise<T> {
    const { context } = this.codec;
    return call.catch((error: unknown) => {
      if (!context.isFailure(error, "OTSConditionCheckFail")) throw error;
      throw context.unmet(error, this.tableName, key, hint);
    });
  }

  protected get tableName(): string {
    return this.codec.layout.name;
  }

  /** A column that is not in the key. */
  protected attribute(column: string): Field {
    const field = this.codec.layout.attributes.find(({ name }) => name === column);
    if (field === undefined)
      throw this.codec.context.error(
        "OTSParameterInvalid",
        `'${column}' is no attribute column of '${this.tableName}'.`,
        `There are: ${this.codec.layout.attributes.map(({ name }) => name).join(", ")}.`,
      );
    return field;
  }

  private write(row: unknown, options: CallOptions | undefined, condition?: Condition): Promise<AnyRow> {
    try {
      const { primaryKey, attributes } = this.codec.put(row);
      const { auto } = this.codec.layout;
      const request: { -readonly [name in keyof PutRowRequest]: PutRowRequest[name] } = { tableName: this.tableName, primaryKey, attributes };
      // Only what is there: each member of a request costs the call that reads it.
      if (options?.signal !== undefined) request.signal = options.signal;
      // A key that the store gives is new, and takes no condition.
      if (auto !== undefined && primaryKey[auto] === AUTO_INCREMENT) {
        request.returnContent = "PRIMARY_KEY";
        return this.store.putRow(request).then(({ row: stored }) => this.codec.keyOf(stored!.primaryKey));
      }
      if (condition !== undefined) request.condition = condition;
      const call = this.store.putRow(request);
      const key = this.codec.keyOfNew(primaryKey as PrimaryKey);
      return (condition === undefined ? call : this.explained(call, primaryKey as PrimaryKey, THERE_ALREADY)).then(() => key);
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/** The class behind a table. Types are checked where it is handed out. */
export class SchemaTable extends RowOperations {
  readonly by: Readonly<Record<string, OrderedQuery>>;
  private readonly all: OrderedQuery;
  private readonly db: Database;

  /** Where versions are in a companion. */
  readonly history: HistoryStore | undefined;
  private readonly undoing = new Lanes();

  constructor(
    codec: RowCodec,
    /** The code of tables with companions, if the schema has one. */
    private readonly beside?: typeof import("./history.js"),
  ) {
    const { context, layout } = codec;
    const isNew = (key: InputPrimaryKey): boolean => layout.auto !== undefined && key[layout.auto] === AUTO_INCREMENT;
    const history = layout.companion && beside && new beside.HistoryStore(context, layout, new Lanes(), isNew);
    super(codec, history ?? codec.context.db);
    this.history = history;
    this.db = codec.context.db;
    this.all = new OrderedQuery(codec, codec.layout.base);
    this.by = Object.fromEntries([...codec.layout.indexes].map(([name, order]) => [name, new OrderedQuery(codec, order)]));
  }

  /** Its operations on another store: for a step. */
  on(store: Store): RowOperations {
    return new RowOperations(this.codec, store);
  }

  get name(): string {
    return this.tableName;
  }

  range(part: unknown): OrderedQuery {
    return this.all.range(part);
  }

  where(condition: unknown): OrderedQuery {
    return this.all.where(condition);
  }

  reverse(): OrderedQuery {
    return this.all.reverse();
  }

  limit(rows: number): OrderedQuery {
    return this.all.limit(rows);
  }

  toArray(options?: CallOptions): Promise<AnyRow[]> {
    return this.all.toArray(options);
  }

  first(options?: CallOptions): Promise<AnyRow | undefined> {
    return this.all.first(options);
  }

  page(options?: Parameters<OrderedQuery["page"]>[0]): ReturnType<OrderedQuery["page"]> {
    return this.all.page(options);
  }

  count(options?: CallOptions): Promise<number> {
    return this.all.count(options);
  }

  deleteAll(options?: CallOptions): Promise<number> {
    return this.all.delete(options);
  }

  toJSON(): object {
    return this.all.toJSON();
  }

  get owner(): object {
    return this.all.owner;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<AnyRow> {
    return this.all[Symbol.asyncIterator]();
  }

  watch(key?: unknown, options?: CallOptions): LiveRowsOf<AnyRow> {
    if (key === undefined) return this.all.watch(options);
    return new LiveRows(this.db.watch({ tableName: this.tableName, primaryKey: this.codec.key(key), signal: options?.signal }), (row) => this.codec.row(row));
  }

  watchCount(options?: CallOptions): LiveCount {
    return this.all.watchCount(options);
  }

  override async getMany(keys: Iterable<unknown>, options?: CallOptions): Promise<(AnyRow | undefined)[]> {
    const primaryKeys = [...keys].map((key) => this.codec.key(key));
    const rows: (AnyRow | undefined)[] = [];
    for (let at = 0; at < primaryKeys.length; at += KEYS) {
      const [results] = await this.db.batchGetRow([{ tableName: this.tableName, primaryKeys: primaryKeys.slice(at, at + KEYS) }], options);
      for (const result of results) {
        if (!result.ok) throw result.error;
        rows.push(result.row === null ? undefined : this.codec.row(result.row));
      }
    }
    return rows;
  }

  async putMany(rows: Iterable<unknown> | AsyncIterable<unknown>, options?: CallOptions): Promise<number> {
    if (this.history !== undefined) return this.putEach(rows, options);
    const writer = this.db.writer(this.tableName, { signal: options?.signal });
    try {
      for await (const row of rows as AsyncIterable<unknown>) {
        const wait = writer.put(this.codec.put(row) as NewRow);
        if (wait !== undefined) await wait;
      }
    } catch (error) {
      // What was taken before is stored, as rows before a wrong one of an import are.
      await writer.close().catch(() => {});
      throw error;
    }
    return (await writer.close()).rows;
  }

  /** Puts rows with their companions, some at a time. */
  private async putEach(rows: Iterable<unknown> | AsyncIterable<unknown>, options?: CallOptions): Promise<number> {
    let count = 0;
    let some: Promise<unknown>[] = [];
    const settle = async (): Promise<void> => {
      const settled = await Promise.allSettled(some);
      some = [];
      const failed = settled.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
      if (failed !== undefined) throw failed.reason;
    };
    try {
      for await (const row of rows as AsyncIterable<unknown>) {
        some.push(this.put(row, options));
        count += 1;
        if (some.length === TOGETHER) await settle();
      }
    } finally {
      await Promise.allSettled(some);
    }
    await settle();
    return count;
  }

  async versions(key: unknown, column: string, options?: CallOptions): Promise<VersionOf<unknown>[]> {
    const field = this.versioned(column);
    const cells = await this.cells(key, field, field.column.keeps, options);
    return cells.map(({ value, version }) => ({ value: this.codec.decode(field, value), version }));
  }

  async undo(key: unknown, column: string, options?: CallOptions): Promise<unknown> {
    const field = this.versioned(column);
    if (this.history !== undefined) {
      const value = await this.history.undo(this.codec.key(key), field, options?.signal);
      return value === undefined ? undefined : this.codec.decode(field, value);
    }
    // Of two at once each takes one value back.
    return this.undoing.run(this.codec.key(key), () => this.takeBack(key, field, options));
  }

  private async takeBack(key: unknown, field: Field, options?: CallOptions): Promise<unknown> {
    const [newest, before] = await this.cells(key, field, 2, options);
    if (newest === undefined || before === undefined) return undefined;
    await this.db.updateRow({
      tableName: this.tableName,
      primaryKey: this.codec.key(key),
      deleteVersions: { [field.name]: [newest.version] },
      condition: THERE,
      signal: options?.signal,
    });
    return this.codec.decode(field, before.value);
  }

  async *changes({
    after,
    once,
    signal,
  }: {
    readonly after?: string | undefined;
    readonly once?: boolean | undefined;
    readonly signal?: AbortSignal | undefined;
  } = {}): AsyncGenerator<unknown, void, undefined> {
    for await (const change of this.db.changes({ tableName: this.tableName, from: after, once, signal })) yield this.changed(change);
  }

  async transaction<T>(partition: unknown, work: (rows: RowOperations) => Promise<T>, options?: CallOptions): Promise<T> {
    const {
      codec: {
        layout: {
          key: [first],
        },
        context,
      },
    } = this;
    if (typeof work !== "function") throw context.wrong("work", kindOf(work), "a function that takes the rows of the partition");
    const partitionKey = { [first.name]: this.codec.encode(first, partition) as string };
    for (let tries = 1; ; tries++) {
      try {
        return await this.attempt(await this.db.startLocalTransaction({ tableName: this.tableName, partitionKey, signal: options?.signal }), work);
      } catch (error) {
        if (tries === TRIES || !context.isFailure(error, ...BUSY) || options?.signal?.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(1000, 20 * 2 ** tries)));
      }
    }
  }

  async import(source: ImportSource, { map, ...options }: Partial<ImportOptions> & { readonly map?: (record: AnyRow) => unknown } = {}): Promise<ImportResult> {
    return this.db.importRows(this.tableName, source, {
      ...options,
      map: (record: AnyRow) => {
        const row = map === undefined ? record : map(record);
        // A row of an export has the values that are stored.
        if (map === undefined && isExact(record)) return record;
        return row === undefined ? undefined : (this.codec.put(row) as NewRow);
      },
    } as ImportOptions);
  }

  async export(options?: ExportOptions): Promise<Blob> {
    const file = await new Response(await this.db.exportRows(this.tableName, options)).blob();
    return file.slice(0, file.size, FILE_TYPES[options?.format ?? "ndjson"]);
  }

  private async attempt<T>(transaction: Transaction, work: (rows: RowOperations) => Promise<T>): Promise<T> {
    let result: T;
    try {
      const { codec } = this;
      result = await work(
        new RowOperations(codec, this.history === undefined ? transaction : new this.beside!.TransactionStore(transaction, codec.context, codec.layout)),
      );
    } catch (error) {
      await transaction.abort().catch(() => {});
      throw error;
    }
    await transaction.commit();
    return result;
  }

  private async cells(
    key: unknown,
    { name }: Field,
    maxVersions: number,
    options?: CallOptions,
  ): Promise<readonly { readonly value: never; readonly version: number }[]> {
    if (this.history !== undefined) return this.history.versions(this.codec.key(key), name, maxVersions, options?.signal) as Promise<never>;
    const { row } = await this.db.getRow({
      tableName: this.tableName,
      primaryKey: this.codec.key(key),
      columnsToGet: [name],
      maxVersions,
      signal: options?.signal,
    });
    return (row?.columns[name] ?? []) as readonly { readonly value: never; readonly version: number }[];
  }

  private versioned(column: string): Field {
    const field = this.attribute(column);
    if (field.column.keeps < 2)
      throw this.codec.context.error("OTSParameterInvalid", `The column '${column}' of '${this.tableName}' keeps one version.`, "Declare it with versions(n).");
    return field;
  }

  private changed({ type, primaryKey, cells, token }: Change): unknown {
    const columns: AnyRow = {};
    for (const cell of cells) {
      const field = this.codec.layout.byName.get(cell.name);
      if (field !== undefined) columns[cell.name] = cell.op === "PUT" ? this.codec.decode(field, cell.value) : null;
    }
    return { type, key: this.codec.keyOf(primaryKey), columns, token };
  }
}
