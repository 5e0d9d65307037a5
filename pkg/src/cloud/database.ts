/** A connected instance: the interface of an open one, whose calls go to the service. */

import { lazyIterator } from "../changes/lazy.js";
import { loadCode } from "../client/code.js";
import { takeOneArgument } from "../client/one-argument.js";
import { count } from "../client/scan.js";
import { SIGNAL, signalOf } from "../client/signals.js";
import { checkArguments, has } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import * as encode from "../codec/requests.js";
import { copied } from "../open/copied.js";
import { invalid, TabStoreError, toRecord } from "../types/errors.js";
import type { DatabaseEvents } from "../types/events.js";
import type { ExportInstanceOptions, ExportOptions, ImportInstanceOptions, ImportInstanceResult } from "../types/export.js";
import type { Filter } from "../types/filter.js";
import { named } from "../types/named.js";
import type { TracedGetRowRequest, TracedGetRowResult } from "../types/inspect.js";
import type {
  BatchWriteItem,
  BatchWriteOptions,
  BatchWriteResult,
  CallOptions,
  CountRowsRequest,
  CountRowsResult,
  StartLocalTransactionRequest,
  TableRequest,
  WriteResult,
} from "../types/rows.js";
import type {
  Change,
  ChangesRequest,
  DescribeStreamRequest,
  DescribeStreamResult,
  GetShardIteratorRequest,
  GetStreamRecordRequest,
  GetStreamRecordResult,
  ListStreamRequest,
  StreamDescription,
} from "../types/streams.js";
import type {
  AddDefinedColumnRequest,
  ComputeSplitPointsBySizeRequest,
  ComputeSplitPointsBySizeResult,
  CreateIndexRequest,
  CreateTableRequest,
  DeleteDefinedColumnRequest,
  DropIndexRequest,
  TableDescription,
  UpdateTableRequest,
} from "../types/tables.js";
import type { Transaction } from "../types/transaction.js";
import type { ImportOptions, ImportResult, ImportSource, RowWriter, WriterOptions } from "../types/writer.js";
import type { Connection } from "./connection.js";
import { damaged, unsupported } from "./errors.js";
import { StartTransaction, TransactionId } from "./messages.js";
import { type Cell, variantBytes, writeRow } from "./plain-buffer.js";
import { addRefused, type Supported } from "./refuse.js";
import { inOrder, type Write } from "./requests.js";
import { RowCalls, taken } from "./row-calls.js";
import { CloudWriter } from "./writer.js";

const STREAMS = () => loadCode(import("./streams.js"));
/** The code for tables. */
type Tables = typeof import("./tables.js");
const TABLES = (): Promise<Tables> => loadCode(import("./tables.js"));
const BATCH_WRITE = new Set(["atomic", "signal"]);
const EVENTS = ["health", "leader"];

/** The columns that a filter looks at. */
function columnsOf(filter: Filter): string[] {
  if (has(filter, "filters")) return (filter as { readonly filters: readonly Filter[] }).filters.flatMap(columnsOf);
  return has(filter, "column") ? [(filter as { readonly column: string }).column] : [];
}

/** The value of the partition key, as text. */
const partitionOf = (key: readonly Cell[], names: readonly string[] | undefined): string => String(variantBytes(inOrder(key, names)[0]!.variant!));

/** The class behind a connection. What the service lacks is in `refuse.ts`. */
export class CloudDatabase extends RowCalls implements Supported {
  readonly persistence = "service";
  readonly role = "leader";

  /**
   * `pollInterval`: milliseconds between two looks for new records of a stream. `typed`: it has typed tables, which ask for `allowChosen` of
   * each key that the store gives, whether the application chooses any or not.
   */
  constructor(
    readonly name: string,
    connection: Connection,
    private readonly pollInterval: number,
    private readonly typed: boolean,
  ) {
    super(connection, (rows, writes, work) => connection.inOrder(rows, writes, work));
  }

  get closed(): boolean {
    return this.closedBy !== undefined;
  }

  async createTable(given: CreateTableRequest): Promise<void> {
    const request = this.typed ? { ...given, primaryKey: given.primaryKey.map(({ allowChosen: _, ...column }) => column) } : given;
    if (Object(request) !== request || !has(request, "ifNotExists")) return this.table("createTable", request);
    const { ifNotExists, ...plain } = request;
    if (ifNotExists !== undefined && typeof ifNotExists !== "boolean")
      throw invalid(`The argument 'ifNotExists' is ${kindOf(ifNotExists)}; it must be true or false.`);
    await this.table("createTable", plain).catch(async (error: TabStoreError) => {
      if (!ifNotExists || error.code !== "OTSObjectAlreadyExist") throw error;
      const { checkSchema } = await loadCode(import("../open/existing-table.js"));
      // It may be the name of one of its indexes that is there.
      checkSchema(plain, await this.describeTable(plain.tableName).catch(() => Promise.reject(error)));
    });
  }

  listTable(options?: CallOptions): Promise<string[]> {
    return this.table("listTable", options);
  }

  describeTable(request: TableRequest | string): Promise<TableDescription> {
    return this.table("describeTable", request);
  }

  updateTable(request: UpdateTableRequest): Promise<TableDescription> {
    return this.table("updateTable", request);
  }

  deleteTable(request: TableRequest | string): Promise<void> {
    return this.table("deleteTable", request);
  }

  createIndex(request: CreateIndexRequest): Promise<void> {
    return this.table("createIndex", request);
  }

  dropIndex(request: DropIndexRequest): Promise<void> {
    return this.table("dropIndex", request);
  }

  addDefinedColumn(request: AddDefinedColumnRequest): Promise<void> {
    return this.table("addDefinedColumn", request);
  }

  deleteDefinedColumn(request: DeleteDefinedColumnRequest): Promise<void> {
    return this.table("deleteDefinedColumn", request);
  }

  computeSplitPointsBySize(request: ComputeSplitPointsBySizeRequest): Promise<ComputeSplitPointsBySizeResult> {
    return this.table("computeSplitPointsBySize", request);
  }

  /** A call of {@link TABLES}. Its arguments are copied, because it is made later. */
  private async table<T>(call: keyof Tables, request: unknown): Promise<T> {
    const given = copied(request);
    return (await TABLES())[call](this.connection, given as never) as Promise<T>;
  }

  override async getRow(request: TracedGetRowRequest): Promise<TracedGetRowResult> {
    if (Object(request) === request && has(request, "trace")) {
      const { trace, ...plain } = request;
      if (trace) throw unsupported("The trace of a read", "Only an instance in this browser shows how it reads: leave trace out.");
      return super.getRow(plain);
    }
    return super.getRow(request);
  }

  count(request: CountRowsRequest): Promise<CountRowsResult> {
    return count(
      async ({ filter, ...stretch }) => {
        // A row comes with its key if a key column is asked for: nothing else of it is needed, but what the filter looks at.
        const columns = filter === undefined ? [] : columnsOf(filter);
        const select = (names: readonly string[] | undefined) => (names === undefined ? {} : { columnsToGet: [...new Set([names[0], ...columns])] });
        const { rows, nextStartPrimaryKey: next, consumed } = await this.range({ ...stretch, filter }, select);
        return { rows: rows.length, next, consumed };
      },
      this,
      request,
      "count",
    );
  }

  override async batchWriteRow(rows: readonly BatchWriteItem[], options?: BatchWriteOptions): Promise<BatchWriteResult[]> {
    const { atomic = false } = checkArguments(options ?? {}, BATCH_WRITE, "batchWriteRow");
    if (typeof atomic !== "boolean") throw invalid(`The argument 'atomic' is ${kindOf(atomic)}; it must be true or false.`);
    return this.writeBatch(encode.batchWriteRow, rows, options, atomic);
  }

  async atomic(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<WriteResult[]> {
    checkArguments(options ?? {}, SIGNAL, "atomic");
    const results = await this.writeBatch(encode.atomic, rows, options, true, (writes, signal) => this.checkPartition(writes, signal));
    const isAlone = results.filter(({ ok }) => !ok).length === 1;
    return results.map((result, i) => {
      if (result.ok) return result;
      const { error } = result;
      // If one row alone has failed, the others are not to blame.
      throw isAlone && i > 0 ? new TabStoreError({ ...toRecord(error), message: `Row ${i} of the atomic batch failed: ${error.message}` }) : error;
    });
  }

  /** Refuses rows that the service cannot write in one step. */
  private async checkPartition(writes: readonly Write[], signal: AbortSignal | undefined): Promise<void> {
    const [first] = writes;
    if (first === undefined) return;
    const names = await this.connection.keyNames(first.tableName, signal);
    const partition = partitionOf(first.key, names);
    if (writes.every(({ tableName, key }) => tableName === first.tableName && partitionOf(key, names) === partition)) return;
    throw unsupported(
      "One step over several tables or partition keys",
      "The service writes rows in one step only if they are of one table and share a partition key. Choose keys that way, or make each row's write safe to repeat.",
    );
  }

  async startLocalTransaction(request: StartLocalTransactionRequest): Promise<Transaction> {
    const { connection } = this;
    const started = connection.call(request, (signal) => {
      const tokens = taken(encode.startLocalTransaction, request);
      tokens.number();
      const tableName = tokens.text();
      const key = tokens.many((): Cell => ({ name: tokens.text(), variant: tokens.variant() }));
      return async () => {
        const { transactionId } = await connection.service.call(
          "StartLocalTransaction",
          StartTransaction,
          { tableName, key: writeRow(key) },
          TransactionId,
          signal,
        );
        if (transactionId === undefined) throw damaged("it has no transaction");
        return transactionId;
      };
    });
    const [id, { makeTransaction }] = await Promise.all([started, loadCode(import("./transaction.js"))]);
    return makeTransaction(connection, id);
  }

  writer(tableName: string, options?: WriterOptions): RowWriter {
    return new CloudWriter(this, tableName, options);
  }

  async importRows(tableName: string, source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    const { importRows } = await loadCode(import("../import/index.js"));
    return importRows(this, tableName, source, options, (work) => this.connection.sources.unlessFailed(work));
  }

  async exportRows(tableName: string, options?: ExportOptions): Promise<ReadableStream<Uint8Array>> {
    const given = copied(options ?? {});
    return (await loadCode(import("../export/index.js"))).exportRows(this, tableName, given);
  }

  async exportInstance(options: ExportInstanceOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const given = copied(options);
    return (await loadCode(import("../export/instance.js"))).exportInstance(this.withClock(), given, async () => []);
  }

  async importInstance(source: Blob | Response | ReadableStream<Uint8Array>, options?: ImportInstanceOptions): Promise<ImportInstanceResult> {
    const { importInstance } = await loadCode(import("../export/instance.js"));
    return importInstance(this.withClock(), source, options ?? {}, (work) => this.connection.sources.unlessFailed(work));
  }

  /** This database with the service's clock, which an import asks for. */
  private withClock(): this & { metrics(): Promise<{ readonly now: number }> } {
    const { service } = this.connection;
    return Object.create(this, { metrics: { value: async () => ({ now: service.now }) } }) as this & { metrics(): Promise<{ readonly now: number }> };
  }

  async listStream(request: ListStreamRequest = {}): Promise<StreamDescription[]> {
    const given = copied(request);
    return (await STREAMS()).listStream(this.connection, given);
  }

  async describeStream(request: DescribeStreamRequest): Promise<DescribeStreamResult> {
    const given = copied(request);
    return (await STREAMS()).describeStream(this.connection, given);
  }

  async getShardIterator(request: GetShardIteratorRequest): Promise<string> {
    const given = copied(request);
    return (await STREAMS()).getShardIterator(this.connection, given);
  }

  async getStreamRecord(request: GetStreamRecordRequest): Promise<GetStreamRecordResult> {
    const given = copied(request);
    return (await STREAMS()).getStreamRecord(this.connection, given);
  }

  changes(request: ChangesRequest): AsyncIterableIterator<Change> {
    const given = copied(request);
    return lazyIterator(async () => (await STREAMS()).readChanges(this.connection, this.pollInterval, given));
  }

  /** All that was acknowledged is stored: the service has no memory of its own to write. */
  async flush(options?: CallOptions): Promise<void> {
    checkArguments(options ?? {}, SIGNAL, "flush");
    if (this.closedBy !== undefined) throw this.closedBy;
  }

  /** Loads the code of tables, streams, transactions, imports and exports. */
  async preload(): Promise<void> {
    await loadCode(
      Promise.all([
        STREAMS(),
        TABLES(),
        import("./batches.js"),
        import("./transaction.js"),
        import("../import/index.js"),
        import("../export/index.js"),
        import("../export/instance.js"),
        import("../open/existing-table.js"),
      ]),
    );
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  addEventListener<K extends keyof DatabaseEvents>(
    type: K,
    listener: (event: DatabaseEvents[K]) => void,
    options: { readonly once?: boolean | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): void {
    if (!EVENTS.includes(type)) throw invalid(`The argument 'type' is ${shown(type)}; known events are: ${EVENTS.join(", ")}.`);
    if (typeof listener !== "function") throw invalid(`The argument 'listener' is ${kindOf(listener)}; it must be a function.`);
    // No event ever comes: there is no engine that fails, and no tab that leads.
    signalOf(options);
  }

  removeEventListener<K extends keyof DatabaseEvents>(_type: K, _listener: (event: DatabaseEvents[K]) => void): void {
    // None was added.
  }
}
named(CloudDatabase, "Database");
addRefused(CloudDatabase.prototype);
takeOneArgument(CloudDatabase.prototype, ["changes"]);
