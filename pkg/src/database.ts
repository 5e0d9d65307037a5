/** An open instance: the public interface on a {@link Client}. */

import { Client } from "./client.js";
import * as encode from "./codec/request.js";
import * as decode from "./codec/response.js";
import { kindOf } from "./codec/value.js";
import { invalid } from "./errors.js";
import type {
  Database, DatabaseEvents, ImportOptions, ImportResult, ImportSource, Metrics, RowWriter, WriterOptions,
} from "./interface.js";
import type { Row } from "./row.js";
import { scan, scanPages } from "./scan.js";
import type {
  BatchGetItem, BatchGetResult, BatchWriteItem, BatchWriteResult, CallOptions, CreateTableRequest, DeleteRowRequest,
  GetRangeRequest, GetRangeResult, GetRowRequest, GetRowResult, PutRowRequest, ScanRequest, TableDescription, TableRequest,
  UpdateRowRequest, UpdateTableRequest, WriteResult,
} from "./types.js";
import { Writer, type Writers } from "./writer.js";

const OPTIONS = ["timeToLive", "maxVersions", "maxVersionOffset", "allowUpdate", "reservedThroughput"];
const CREATE = new Set(["tableName", "primaryKey", "signal", ...OPTIONS]);
const UPDATE = new Set(["tableName", "signal", ...OPTIONS]);
const TABLE = new Set(["tableName", "signal"]);

/** Without the signal, and without what is `undefined`: the rest goes through a port. */
function plain(request: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([name, value]) => name !== "signal" && value !== undefined));
}

function tableRequest(request: TableRequest | string, what: string): TableRequest {
  if (typeof request === "string") return { tableName: request };
  encode.checkArguments(request, TABLE, what);
  encode.checkName(request.tableName, "tableName");
  return request;
}

/** The class behind {@link Database}. */
export class OpenDatabase implements Database {
  private readonly writers: Writers = new Set();
  private readonly listeners = new Map<string, Set<(event: never) => void>>();
  private closing: Promise<void> | undefined;
  private readonly read: (request: GetRangeRequest) => Promise<GetRangeResult>;

  /** Takes over a client whose engine is running. */
  constructor(readonly name: string, readonly persistence: "indexeddb" | "memory", private readonly client: Client) {
    this.read = (request) => this.getRange(request);
    client.before = () => {
      for (const writer of this.writers) writer.send();
    };
    client.onFailure = (error) => this.emit("health", { type: "health", healthy: false, error });
  }

  get closed(): boolean {
    return this.client.closedBy !== undefined;
  }

  async createTable(request: CreateTableRequest): Promise<void> {
    encode.checkArguments(request, CREATE, "createTable");
    encode.checkName(request.tableName, "tableName");
    if (!Array.isArray(request.primaryKey)) throw invalid(`The argument 'primaryKey' is ${kindOf(request.primaryKey)}; it must be an array of { name, type }.`);
    await this.admin("createTable", request);
  }

  async listTable(options?: CallOptions): Promise<string[]> {
    return (await this.admin("listTable", options ?? {})) as string[];
  }

  async describeTable(request: TableRequest | string): Promise<TableDescription> {
    return (await this.admin("describeTable", tableRequest(request, "describeTable"))) as TableDescription;
  }

  async updateTable(request: UpdateTableRequest): Promise<TableDescription> {
    encode.checkArguments(request, UPDATE, "updateTable");
    encode.checkName(request.tableName, "tableName");
    return (await this.admin("updateTable", request)) as TableDescription;
  }

  async deleteTable(request: TableRequest | string): Promise<void> {
    await this.admin("deleteTable", tableRequest(request, "deleteTable"));
  }

  putRow(request: PutRowRequest): Promise<WriteResult> {
    return this.client.request(encode.putRow, request, decode.writeResult, request?.signal);
  }

  updateRow(request: UpdateRowRequest): Promise<WriteResult> {
    return this.client.request(encode.updateRow, request, decode.writeResult, request?.signal);
  }

  deleteRow(request: DeleteRowRequest): Promise<WriteResult> {
    return this.client.request(encode.deleteRow, request, decode.writeResult, request?.signal);
  }

  getRow(request: GetRowRequest): Promise<GetRowResult> {
    return this.client.request(encode.getRow, request, decode.getRowResult, request?.signal);
  }

  getRange(request: GetRangeRequest): Promise<GetRangeResult> {
    return this.client.request(encode.getRange, request, decode.getRangeResult, request?.signal);
  }

  scan(request: ScanRequest): AsyncIterableIterator<Row> {
    return scan(this.read, request);
  }

  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]> {
    return scanPages(this.read, request);
  }

  batchGetRow(tables: readonly BatchGetItem[], options?: CallOptions): Promise<BatchGetResult[][]> {
    return this.client.request(encode.batchGetRow, tables, decode.batchGetResult, options?.signal);
  }

  batchWriteRow(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<BatchWriteResult[]> {
    return this.client.request(encode.batchWriteRow, rows, decode.batchWriteResult, options?.signal);
  }

  writer(tableName: string, options?: WriterOptions): RowWriter {
    return new Writer(this.client, tableName, this.writers, options);
  }

  async importRows(tableName: string, source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    // Parsers are only loaded by applications that import.
    const { importRows } = await import("./import/index.js");
    return importRows(this, tableName, source, options);
  }

  async metrics(options?: CallOptions): Promise<Metrics> {
    return (await this.admin("metrics", options ?? {})) as Metrics;
  }

  async flush(options?: CallOptions): Promise<void> {
    await this.admin("flush", options ?? {});
  }

  async compact(options?: CallOptions): Promise<void> {
    await this.admin("compact", options ?? {});
  }

  async setClock(now: number, options?: CallOptions): Promise<void> {
    if (!Number.isSafeInteger(now)) throw invalid(`The argument 'now' is ${typeof now === "number" ? now : kindOf(now)}; it must be an integer: milliseconds since 1970 UTC.`);
    await this.client.call("setClock", { now }, options?.signal);
  }

  close(): Promise<void> {
    this.closing ??= this.client.close();
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  addEventListener<K extends keyof DatabaseEvents>(
    type: K, listener: (event: DatabaseEvents[K]) => void, options: { readonly once?: boolean; readonly signal?: AbortSignal } = {},
  ): void {
    if (type !== "health") throw invalid(`The argument 'type' is '${String(type)}'; known events are: health.`);
    if (options.signal?.aborted) return;
    const wanted = this.listeners.get(type) ?? new Set();
    this.listeners.set(type, wanted);
    const listen = options.once
      ? (event: DatabaseEvents[K]) => {
          wanted.delete(listen);
          listener(event);
        }
      : listener;
    wanted.add(listen);
    options.signal?.addEventListener("abort", () => wanted.delete(listen), { once: true });
  }

  removeEventListener<K extends keyof DatabaseEvents>(type: K, listener: (event: DatabaseEvents[K]) => void): void {
    this.listeners.get(type)?.delete(listener);
  }

  private emit<K extends keyof DatabaseEvents>(type: K, event: DatabaseEvents[K]): void {
    for (const listener of [...(this.listeners.get(type) ?? [])]) {
      // One listener's mistake must not keep the others from hearing of it.
      try {
        (listener as (event: DatabaseEvents[K]) => void)(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  private async admin(op: string, request: object & CallOptions): Promise<unknown> {
    return this.client.call(op, plain(request), request.signal);
  }
}

/** For the import, which only needs this much of a database. */
export type ImportTarget = Pick<Database, "describeTable" | "writer">;
