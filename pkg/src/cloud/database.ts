/** A connected instance: the interface of an open one, whose calls go to the service. */

import { lazyIterator, lazyLive, NONE, UNCOUNTED } from "../changes/lazy.js";
import { takeOneArgument } from "../client/one-argument.js";
import { SIGNAL, signalOf } from "../client/signals.js";
import { checkArguments, has } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import * as encode from "../codec/requests.js";
import { copied } from "../open/copied.js";
import { invalid } from "../types/errors.js";
import type { DatabaseEvents } from "../types/events.js";
import type { ExportInstanceOptions, ExportOptions, ImportInstanceOptions, ImportInstanceResult } from "../types/export.js";
import { named } from "../types/named.js";
import type { LiveCount, LiveQuery, WatchRequest } from "../types/live.js";
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
import { files, more } from "./load.js";
import { addRefused, type Supported } from "./refuse.js";
import { readKey } from "./requests.js";
import { behindOperation, idsOf, type Order, RowCalls } from "./row-calls.js";
import { CloudWriter } from "./writer.js";

/** The code for tables. */
type Tables = typeof import("./tables.js");
const BATCH_WRITE = new Set(["atomic", "signal"]);
const EVENTS = ["health", "leader"];

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

  createTable(request: CreateTableRequest): Promise<void> {
    return this.table("createTable", request, this.typed);
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

  /** A call about tables. Its arguments are copied, because it is made later. */
  private async table<T>(call: keyof Tables, request: unknown, typed = false): Promise<T> {
    const given = copied(request);
    return (await more()).tables[call](this.connection, given as never, typed) as Promise<T>;
  }

  override async getRow(request: TracedGetRowRequest): Promise<TracedGetRowResult> {
    if (Object(request) === request && has(request, "trace")) {
      const { trace, ...plain } = request;
      if (trace) throw (await more()).traceRefusal();
      return super.getRow(plain);
    }
    return super.getRow(request);
  }

  async count(request: CountRowsRequest): Promise<CountRowsResult> {
    const given = copied(request);
    return (await more()).countRows(this, given);
  }

  override async batchWriteRow(rows: readonly BatchWriteItem[], options?: BatchWriteOptions): Promise<BatchWriteResult[]> {
    const { atomic = false } = checkArguments(options ?? {}, BATCH_WRITE, "batchWriteRow");
    if (typeof atomic !== "boolean") throw invalid(`The argument 'atomic' is ${kindOf(atomic)}; it must be true or false.`);
    return this.writeBatch(rows, options, atomic);
  }

  async atomic(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<WriteResult[]> {
    checkArguments(options ?? {}, SIGNAL, "atomic");
    return this.writes(encode.atomic, rows, options, (writes, signal) => {
      const ids = idsOf(writes);
      return this.order(ids, true, async () => (await more()).atomic(this.connection, writes, ids, signal));
    });
  }

  startLocalTransaction(request: StartLocalTransactionRequest): Promise<Transaction> {
    return this.connection.call(request, (signal) => {
      const tokens = behindOperation(encode.startLocalTransaction, request);
      const tableName = tokens.text();
      const key = readKey(tokens);
      const make = (order: Order, id: string) => new RowCalls(this.connection, order, id);
      return async () => (await more()).startTransaction(this.connection, tableName, key, signal, make);
    });
  }

  writer(tableName: string, options?: WriterOptions): RowWriter {
    return new CloudWriter(this, tableName, options);
  }

  async importRows(tableName: string, source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    return (await files()).importRows(this, tableName, source, options, this.unlessClosed);
  }

  async exportRows(tableName: string, options?: ExportOptions): Promise<ReadableStream<Uint8Array>> {
    const given = copied(options ?? {});
    return (await files()).exportRows(this, tableName, given);
  }

  async exportInstance(options: ExportInstanceOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const given = copied(options);
    return (await files()).exportInstance(this.withClock(), given, async () => []);
  }

  async importInstance(source: Blob | Response | ReadableStream<Uint8Array>, options?: ImportInstanceOptions): Promise<ImportInstanceResult> {
    return (await files()).importInstance(this.withClock(), source, options ?? {}, this.unlessClosed);
  }

  private readonly unlessClosed = <T>(work: Promise<T>): Promise<T> => this.connection.sources.unlessFailed(work);

  /** This database with the service's clock, which an import asks for. */
  private withClock(): this & { metrics(): Promise<{ readonly now: number }> } {
    const { service } = this.connection;
    return Object.create(this, { metrics: { value: async () => ({ now: service.now(0) }) } }) as this & { metrics(): Promise<{ readonly now: number }> };
  }

  async listStream(request: ListStreamRequest = {}): Promise<StreamDescription[]> {
    const given = copied(request);
    return (await more()).streams.listStream(this.connection, given);
  }

  async describeStream(request: DescribeStreamRequest): Promise<DescribeStreamResult> {
    const given = copied(request);
    return (await more()).streams.describeStream(this.connection, given);
  }

  async getShardIterator(request: GetShardIteratorRequest): Promise<string> {
    const given = copied(request);
    return (await more()).streams.getShardIterator(this.connection, given);
  }

  async getStreamRecord(request: GetStreamRecordRequest): Promise<GetStreamRecordResult> {
    const given = copied(request);
    return (await more()).streams.getStreamRecord(this.connection, given);
  }

  changes(request: ChangesRequest): AsyncIterableIterator<Change> {
    const given = copied(request);
    return lazyIterator(async () => (await more()).streams.readChanges(this.connection, this.pollInterval, given));
  }

  watch(request: WatchRequest): LiveQuery {
    const given = copied(request);
    return lazyLive(async () => (await more()).watch(this, this.pollInterval, given), NONE);
  }

  watchCount(request: CountRowsRequest): LiveCount {
    const given = copied(request);
    return lazyLive(async () => (await more()).watchCount(this, this.pollInterval, given), UNCOUNTED);
  }

  /** All that was acknowledged is stored: the service has no memory of its own to write. */
  async flush(options?: CallOptions): Promise<void> {
    checkArguments(options ?? {}, SIGNAL, "flush");
    if (this.closedBy !== undefined) throw this.closedBy;
  }

  /** Loads all code that is otherwise loaded on first use. */
  async preload(): Promise<void> {
    await Promise.all([more(), files()]);
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
takeOneArgument(CloudDatabase.prototype, ["changes", "watch", "watchCount"]);
