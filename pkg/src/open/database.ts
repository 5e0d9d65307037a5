/** An open instance: the public interface on a {@link Client}. */

import { ARGUMENTS } from "../codec/contract-arguments.js";
import { batchGet } from "../client/batch-get.js";
import type { Client } from "../client/client.js";
import { loadCode } from "../client/code.js";
import { checkArguments } from "../codec/check.js";
import * as encode from "../codec/requests.js";
import { readCounted, readPassed, readStarted } from "../codec/responses.js";
import * as decode from "../codec/response.js";
import { kindOf, shown } from "../codec/kinds.js";
import type { Reader } from "../codec/reader.js";
import { invalid, type TabStoreError, toError } from "../types/errors.js";
import type { StorageKind } from "../host/host.js";
import type { ConsumerGroup, ConsumerGroupSummary, ConsumerRequest, ListConsumerGroupsRequest } from "../types/consumer.js";
import type { Database } from "../types/database.js";
import type { Transaction } from "../types/transaction.js";
import type { DatabaseEvents } from "../types/events.js";
import type { DamagedText, MissingRows, StorageInfo, VerifyOptions } from "../types/storage.js";
import { copied } from "./copied.js";
import { lazyGroup, lazyIterator, lazyLive, NONE, UNCOUNTED } from "../changes/lazy.js";
import type {
  GetStoredRowRequest,
  GetStoredRowResult,
  GetWorkEventsResult,
  SegmentDescription,
  SegmentRequest,
  SegmentsRequest,
  StepResult,
  StoreDescription,
  TracedGetRowRequest,
  TracedGetRowResult,
  WorkEvent,
  WorkEventsRequest,
} from "../types/inspect.js";
import type { LiveCount, LiveQuery, WatchRequest } from "../types/live.js";
import type { ExportInstanceOptions, ExportOptions, ImportInstanceOptions, ImportInstanceResult } from "../types/export.js";
import type { ImportOptions, ImportResult, ImportSource, RowWriter, WriterOptions } from "../types/writer.js";
import type {
  AccessKey,
  ComputeConsumedRequest,
  ComputeConsumedResult,
  CreateAccessKeyRequest,
  NewAccessKey,
  UpdateAccessKeyRequest,
} from "../types/management.js";
import type { Metrics } from "../types/metrics.js";
import { named } from "../types/named.js";
import { takeOneArgument } from "../client/one-argument.js";
import type { Platform } from "../platform/platform.js";
import type { Row } from "../types/row.js";
import { count, scan, scanPages } from "../client/scan.js";
import type {
  AddDefinedColumnRequest,
  ComputeSplitPointsBySizeRequest,
  ComputeSplitPointsBySizeResult,
  ComputeStorageResult,
  CreateIndexRequest,
  CreateTableRequest,
  DeleteDefinedColumnRequest,
  DropIndexRequest,
  TableDescription,
  UpdateTableRequest,
} from "../types/tables.js";
import { SIGNAL, signalOf, whenAborted } from "../client/signals.js";
import type { ToldSplits } from "./splits.js";
import { needStack } from "../client/stack.js";
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
  BatchGetItem,
  BatchGetResult,
  BatchWriteItem,
  BatchWriteOptions,
  BatchWriteResult,
  CallOptions,
  CountRowsRequest,
  CountRowsResult,
  DeleteRangeRequest,
  DeleteRangeResult,
  DeleteRowRequest,
  GetRangeRequest,
  GetRangeResult,
  KeyValue,
  PutRowRequest,
  Role,
  ScanRequest,
  StartLocalTransactionRequest,
  TableRequest,
  UpdateRowRequest,
  WasmModules,
  WriteResult,
} from "../types/rows.js";
import { Writer, type Writers } from "../client/writer.js";

/** The code for a look inside the store. */
type Inspect = typeof import("../inspect/index.js");
const INSPECT = (): Promise<Inspect> => loadCode(import("../inspect/index.js"));
/** The names of methods that are for the entry `tabstore/azure` alone. */
const PASS_AZURE = Symbol.for("tabstore.azure");
/** The name of the method that is for the door of Table Store alone: see tablestore/door.ts. */
const PASS_TABLE_STORE = Symbol.for("tabstore.tablestore");
const LIST_FOREIGN = Symbol.for("tabstore.foreign");
const readResponse = (reader: Reader): Uint8Array => readPassed(reader).response;
const LISTEN = new Set(["once", "signal"]);
const BATCH_WRITE = new Set(["atomic", "signal"]);

/** A listener's registration. */
interface Listening {
  readonly once: boolean;
  /** Removes the listener from its signal. */
  readonly forgetSignal: () => void;
}

/** The class behind {@link Database}. */
export class OpenDatabase implements Database {
  private readonly writers: Writers = new Set();
  /** By the kind of event, then by the listener. */
  private readonly listeners = new Map<string, Map<(event: never) => void, Listening>>();
  private closing: Promise<void> | undefined;

  /** Takes over a client whose engine runs. `onClosing` gets the closing that begins. */
  constructor(
    readonly name: string,
    readonly persistence: StorageKind,
    private readonly client: Client,
    private readonly onClosing: (end: Promise<void>) => void = () => {},
    private readonly platform?: Platform,
  ) {
    client.before = (look) => {
      if (this.writers.size === 0) return;
      if (look) needStack();
      for (const writer of this.writers) writer.send();
    };
    client.onHandOver = (error) => {
      for (const writer of this.writers) writer.handOver(error);
    };
    client.isBusy = () => {
      for (const writer of this.writers) if (writer.isBusy) return true;
      return false;
    };
    client.onLeader = () => this.emit("leader", { type: "leader", role: client.role });
    client.onFailure = (error) => this.emit("health", { type: "health", healthy: false, error });
  }

  get role(): Role {
    return this.client.role;
  }

  get closed(): boolean {
    return this.client.closedBy !== undefined;
  }

  /** @internal */
  get closedBy(): TabStoreError | undefined {
    return this.client.closedBy;
  }

  async createTable(request: CreateTableRequest): Promise<void> {
    if (Object(request) !== request || !("ifNotExists" in request)) {
      await this.admin("createTable", request);
      return;
    }
    const { ifNotExists, ...plain } = request;
    if (ifNotExists !== undefined && typeof ifNotExists !== "boolean")
      throw invalid(`The argument 'ifNotExists' is ${kindOf(ifNotExists)}; it must be true or false.`);
    await this.admin("createTable", plain).catch(async (error: TabStoreError) => {
      if (!ifNotExists || error.code !== "OTSObjectAlreadyExist") throw error;
      const { checkSchema } = await loadCode(import("./existing-table.js"));
      // It may be the name of one of its indexes that is there.
      checkSchema(plain, await this.describeTable(plain.tableName).catch(() => Promise.reject(error)));
    });
  }

  listTable(options?: CallOptions): Promise<string[]> {
    return this.admin("listTable", options ?? {});
  }

  describeTable(request: TableRequest | string): Promise<TableDescription> {
    return this.described("describeTable", typeof request === "string" ? { tableName: request } : request);
  }

  updateTable(request: UpdateTableRequest): Promise<TableDescription> {
    return this.described("updateTable", request);
  }

  async deleteTable(request: TableRequest | string): Promise<void> {
    await this.admin("deleteTable", typeof request === "string" ? { tableName: request } : request);
  }

  async createIndex(request: CreateIndexRequest): Promise<void> {
    await this.admin("createIndex", request);
  }

  async dropIndex(request: DropIndexRequest): Promise<void> {
    await this.admin("dropIndex", request);
  }

  async addDefinedColumn(request: AddDefinedColumnRequest): Promise<void> {
    await this.admin("addDefinedColumn", request);
  }

  async deleteDefinedColumn(request: DeleteDefinedColumnRequest): Promise<void> {
    await this.admin("deleteDefinedColumn", request);
  }

  async computeSplitPointsBySize(request: ComputeSplitPointsBySizeRequest): Promise<ComputeSplitPointsBySizeResult> {
    const [told, { resultOf }] = await Promise.all([this.admin<ToldSplits>("computeSplitPointsBySize", request), loadCode(import("./splits.js"))]);
    return resultOf(told, this.client.bigints);
  }

  computeStorage(request: TableRequest | string): Promise<ComputeStorageResult> {
    return this.admin("computeStorage", typeof request === "string" ? { tableName: request } : request);
  }

  computeConsumed(request: ComputeConsumedRequest = {}): Promise<ComputeConsumedResult> {
    return this.admin("computeConsumed", request);
  }

  createAccessKey(request: CreateAccessKeyRequest): Promise<NewAccessKey> {
    return this.admin("createAccessKey", request);
  }

  listAccessKeys(options?: CallOptions): Promise<AccessKey[]> {
    return this.admin("listAccessKeys", options ?? {});
  }

  updateAccessKey(request: UpdateAccessKeyRequest): Promise<AccessKey> {
    return this.admin("updateAccessKey", request);
  }

  async deleteAccessKey(request: string | { readonly accessKeyId: string; readonly signal?: AbortSignal | undefined }): Promise<void> {
    await this.admin("deleteAccessKey", typeof request === "string" ? { accessKeyId: request } : request);
  }

  async startLocalTransaction(request: StartLocalTransactionRequest): Promise<Transaction> {
    const code = loadCode(import("../client/transaction.js"));
    // A transaction that no caller gets must not hold its rows for a minute.
    const abort = (id: string): unknown => this.client.request(encode.abortTransaction, id, () => {}).catch(() => {});
    // Asked before the code is here: the caller may change the request, and calls keep their order.
    const started = this.client.request(
      encode.startLocalTransaction,
      request,
      (reader) => {
        const started = readStarted(reader);
        if (signalOf(request)?.aborted) abort(started.id);
        return started;
      },
      request,
    );
    const [{ id, consumed }, { makeTransaction }] = await Promise.all([
      started,
      code.catch(async (error: unknown) => {
        abort((await started).id);
        throw error;
      }),
    ]);
    return makeTransaction(this.client, id, consumed);
  }

  putRow(request: PutRowRequest): Promise<WriteResult> {
    return this.client.request(encode.putRow, request, decode.writeResult, request);
  }

  updateRow(request: UpdateRowRequest): Promise<WriteResult> {
    return this.client.request(encode.updateRow, request, decode.writeResult, request);
  }

  deleteRow(request: DeleteRowRequest): Promise<WriteResult> {
    return this.client.request(encode.deleteRow, request, decode.writeResult, request);
  }

  getRow(request: TracedGetRowRequest): Promise<TracedGetRowResult> {
    if (Object.hasOwn(Object(request) as object, "trace")) return this.inspect("getRow", request);
    return this.client.request(encode.getRow, request, decode.getRowResult, request);
  }

  getRange(request: GetRangeRequest): Promise<GetRangeResult> {
    return this.client.request(encode.getRange, request, decode.getRangeResult, request, true);
  }

  scan(request: ScanRequest): AsyncIterableIterator<Row> {
    return scan(this, request);
  }

  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]> {
    return scanPages(this, request);
  }

  count(request: CountRowsRequest): Promise<CountRowsResult> {
    return count((stretch) => this.client.request(encode.countRows, stretch, readCounted, stretch, true), this, request, "count");
  }

  deleteRange(request: DeleteRangeRequest): Promise<DeleteRangeResult> {
    return count((stretch) => this.client.request(encode.deleteRange, stretch, readCounted, stretch), this, request, "deleteRange");
  }

  batchGetRow(tables: readonly BatchGetItem[], options?: CallOptions): Promise<BatchGetResult[][]> {
    return batchGet(this.client, tables, options);
  }

  async batchWriteRow(rows: readonly BatchWriteItem[], options?: BatchWriteOptions): Promise<BatchWriteResult[]> {
    const { atomic = false } = checkArguments(options ?? {}, BATCH_WRITE, "batchWriteRow");
    if (typeof atomic !== "boolean") throw invalid(`The argument 'atomic' is ${kindOf(atomic)}; it must be true or false.`);
    return this.client.request(atomic ? encode.batchWriteRowAtomic : encode.batchWriteRow, rows, decode.batchWriteResult, options);
  }

  async atomic(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<WriteResult[]> {
    checkArguments(options ?? {}, SIGNAL, "atomic");
    const results = await this.client.request(encode.atomic, rows, decode.batchWriteResult, options);
    // All have failed if one has, and each names that one.
    return results.map((result) => {
      if (!result.ok) throw result.error;
      return result;
    });
  }

  writer(tableName: string, options?: WriterOptions): RowWriter {
    return new Writer(this.client, tableName, this.writers, options);
  }

  async importRows(tableName: string, source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    // Only applications that import load the parsers.
    const { importRows } = await loadCode(import("../import/index.js"));
    return importRows(this, tableName, source, options, (work) => this.client.sources.unlessFailed(work));
  }

  async exportRows(tableName: string, options?: ExportOptions): Promise<ReadableStream<Uint8Array>> {
    const given = copied(options ?? {});
    return (await loadCode(import("../export/index.js"))).exportRows(this, tableName, given);
  }

  async exportInstance(options: ExportInstanceOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const given = copied(options);
    return (await loadCode(import("../export/instance.js"))).exportInstance(this, given, (call) => this[LIST_FOREIGN](call));
  }

  async importInstance(source: Blob | Response | ReadableStream<Uint8Array>, options?: ImportInstanceOptions): Promise<ImportInstanceResult> {
    return (await loadCode(import("../export/instance.js"))).importInstance(this, source, options ?? {}, (work) => this.client.sources.unlessFailed(work));
  }

  listStream(request: ListStreamRequest = {}): Promise<StreamDescription[]> {
    return this.admin("listStream", request);
  }

  async describeStream(request: DescribeStreamRequest): Promise<DescribeStreamResult> {
    return (await loadCode(import("../changes/streams.js"))).describeStream(this.client, request);
  }

  getShardIterator(request: GetShardIteratorRequest): Promise<string> {
    return this.admin("getShardIterator", request);
  }

  async getStreamRecord(request: GetStreamRecordRequest): Promise<GetStreamRecordResult> {
    return (await loadCode(import("../changes/streams.js"))).getStreamRecord(this.client, request);
  }

  changes(request: ChangesRequest): AsyncIterableIterator<Change> {
    return lazyIterator(async () => (await loadCode(import("../changes/streams.js"))).readChanges(this.client, request));
  }

  consumer(request: ConsumerRequest): ConsumerGroup {
    const given = copied(request);
    return lazyGroup(async () => new (await loadCode(import("../changes/consumer/group.js"))).Group(this.client, this, given));
  }

  async listConsumerGroups(request?: ListConsumerGroupsRequest): Promise<ConsumerGroupSummary[]> {
    return (await loadCode(import("../changes/consumer/group.js"))).listGroups(this, request);
  }

  watch(request: WatchRequest): LiveQuery {
    const given = copied(request);
    return lazyLive(async () => (await loadCode(import("../changes/live.js"))).liveRows(this.client, this, given), NONE);
  }

  watchCount(request: CountRowsRequest): LiveCount {
    const given = copied(request);
    return lazyLive(async () => (await loadCode(import("../changes/live-count.js"))).liveCount(this.client, this, given), UNCOUNTED);
  }

  async *verify(options: VerifyOptions): AsyncGenerator<DamagedText, void, undefined> {
    const { verify } = await loadCode(import("./verify.js"));
    yield* verify(this, options);
  }

  /** Passes a request to the door of the Azure Table service, and its response back: see azure/door.ts. @internal */
  async [PASS_AZURE](request: Uint8Array, options?: CallOptions): Promise<Uint8Array> {
    return this.client.request(encode.azure, request, readResponse, options);
  }

  /** Passes a request to the door of the Table Store service, and its response back: see tablestore/door.ts. @internal */
  async [PASS_TABLE_STORE](request: Uint8Array, options?: CallOptions): Promise<Uint8Array> {
    return this.client.request(encode.tableStore, request, readResponse, options);
  }

  /** The names of all tables of accounts, `account/table`. @internal */
  [LIST_FOREIGN](options?: CallOptions): Promise<string[]> {
    return this.client.admin("listForeignTable", {}, options);
  }

  metrics(options?: CallOptions): Promise<Metrics> {
    return this.admin("metrics", options ?? {});
  }

  segments(request?: SegmentsRequest): Promise<StoreDescription> {
    return this.inspect("segments", request);
  }

  async segment(segmentId: number, request?: SegmentRequest): Promise<SegmentDescription | null> {
    return (await INSPECT()).segment(this.client, segmentId, copied(request));
  }

  getStoredRow(request: GetStoredRowRequest): Promise<GetStoredRowResult> {
    return this.inspect("getStoredRow", request);
  }

  getWorkEvents(request?: WorkEventsRequest): Promise<GetWorkEventsResult> {
    return this.inspect("getWorkEvents", request);
  }

  workEvents(request?: WorkEventsRequest): AsyncIterableIterator<WorkEvent> {
    const given = copied(request);
    return lazyIterator(async () => (await INSPECT()).followWork(this.client, given));
  }

  pauseWork(options?: CallOptions): Promise<StepResult> {
    return this.inspect("pauseWork", options);
  }

  resumeWork(options?: CallOptions): Promise<void> {
    return this.inspect("resumeWork", options);
  }

  stepWork(options?: CallOptions): Promise<StepResult> {
    return this.inspect("stepWork", options);
  }

  async storage(options?: CallOptions): Promise<StorageInfo> {
    const [metrics, { storage }] = await Promise.all([this.metrics(options), loadCode(import("./storage.js"))]);
    return storage(metrics);
  }

  async preload(modules?: readonly (keyof WasmModules)[]): Promise<void> {
    const { preload } = await loadCode(import("./preload.js"));
    return preload(this.platform!, modules);
  }

  async persist(options?: CallOptions): Promise<boolean> {
    const { persist } = await loadCode(import("./storage.js"));
    return persist(options);
  }

  missing(options?: CallOptions): Promise<MissingRows[]> {
    return this.admin("missing", options ?? {});
  }

  async flush(options?: CallOptions): Promise<void> {
    await this.admin("flush", options ?? {});
  }

  async compact(options?: CallOptions): Promise<void> {
    await this.admin("compact", options ?? {});
  }

  async setClock(now: number, options?: CallOptions): Promise<void> {
    if (!Number.isSafeInteger(now)) throw invalid(`The argument 'now' is ${shown(now)}; it must be an integer: milliseconds since 1970 UTC.`);
    await this.client.admin("setClock", { now }, options);
  }

  async close(): Promise<void> {
    // Refused before it is recorded: a caller with more stack can still close.
    needStack();
    if (this.closing === undefined) {
      this.closing = this.client.close();
      this.onClosing(this.closing);
    }
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  addEventListener<K extends keyof DatabaseEvents>(
    type: K,
    listener: (event: DatabaseEvents[K]) => void,
    options: { readonly once?: boolean | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): void {
    if (type !== "health" && type !== "leader") throw invalid(`The argument 'type' is ${shown(type)}; known events are: health, leader.`);
    if (typeof listener !== "function") throw invalid(`The argument 'listener' is ${kindOf(listener)}; it must be a function.`);
    const { once } = checkArguments(options, LISTEN, "addEventListener");
    const signal = signalOf(options);
    if (signal?.aborted) return;
    const wanted = this.listeners.get(type) ?? new Map<(event: never) => void, Listening>();
    this.listeners.set(type, wanted);
    // As in browsers: a listener that is registered already is not added again.
    if (wanted.has(listener)) return;
    wanted.set(listener, { once: Boolean(once), forgetSignal: whenAborted(signal, () => this.removeEventListener(type, listener)) });
    // Earlier events come late, not in the middle of this call.
    if (type === "health") queueMicrotask(() => this.client.troubles.listen((error) => this.emit("health", { type: "health", healthy: true, error })));
  }

  removeEventListener<K extends keyof DatabaseEvents>(type: K, listener: (event: DatabaseEvents[K]) => void): void {
    const wanted = this.listeners.get(type);
    wanted?.get(listener)?.forgetSignal();
    wanted?.delete(listener);
  }

  private emit<K extends keyof DatabaseEvents>(type: K, event: DatabaseEvents[K]): void {
    for (const [listener, { once }] of [...(this.listeners.get(type) ?? [])]) {
      if (once) this.removeEventListener(type, listener as (event: DatabaseEvents[K]) => void);
      // One listener's error must not keep the others from the event.
      try {
        (listener as (event: DatabaseEvents[K]) => void)(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  private async described(op: "describeTable" | "updateTable", request: object & CallOptions): Promise<TableDescription> {
    const description = await this.admin<TableDescription>(op, request);
    const bound = (value: KeyValue | null): KeyValue | null => (typeof value === "number" && this.client.bigints ? BigInt(value) : value);
    const partitions = description.partitions.map((one) => ({ ...one, lowerBound: bound(one.lowerBound), upperBound: bound(one.upperBound) }));
    const indexes = description.indexes.map((one) => ({ ...one, failure: one.failure && toError(one.failure) }));
    return { ...description, partitions, indexes };
  }

  /** A call of {@link INSPECT}. Its arguments are copied, because it is made later. */
  private async inspect<T>(call: Exclude<keyof Inspect, "segment" | "followWork">, request: unknown): Promise<T> {
    const given = copied(request);
    return (await INSPECT())[call](this.client, given as never) as Promise<T>;
  }

  private async admin<T>(op: keyof typeof ARGUMENTS, request: object & CallOptions): Promise<T> {
    const args = ARGUMENTS[op](request, op);
    return this.client.admin<T>(op, args, request);
  }
}
named(OpenDatabase, "Database");
takeOneArgument(OpenDatabase.prototype, ["scan", "scanPages", "changes", "consumer", "watch", "watchCount", "verify"]);

/** The part of a database that an import needs. */
export type ImportTarget = Pick<Database, "describeTable" | "writer">;
