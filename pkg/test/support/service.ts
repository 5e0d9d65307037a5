/**
 * A small server of the service's protocol on an instance in this process, for tests of a connection. It reads what the client sends by
 * the same declarations, so it shows that calls mean the same; that their bytes are the service's is shown by `cloud-wire.test.ts`.
 */

import assert from "node:assert/strict";

import type { CellRow } from "../../src/codec/page.js";
import * as m from "../../src/cloud/messages.js";
import { type Cell, type ReadCell, type ReadRow, readRows, TYPE, type Variant, writeRow } from "../../src/cloud/plain-buffer.js";
import { decode, encode, type Fields, type Message } from "../../src/cloud/protobuf.js";
import { authorizationOf, md5Of, type Signer, signed } from "../../src/cloud/sign.js";
import * as t from "../../src/cloud/table-messages.js";
import type { Fetch } from "../../src/cloud/types.js";
import type { Database, Filter, KeyColumn, RangeKey, Row, Transaction } from "../../src/index.js";
import { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../../src/types/values.js";

/** The access key of the tests. */
export const SIGNER: Signer = { accessKeyId: "testid", accessKeySecret: "testsecret" };
export const ENDPOINT = "https://demo.cn-hangzhou.ots.aliyuncs.com";

const KEY_TYPES = [, "INTEGER", "STRING", "BINARY"] as KeyColumn["type"][];
const COLUMN_TYPES = [, "INTEGER", "DOUBLE", "BOOLEAN", "STRING", , , "BINARY"] as const;
const EXISTENCE = ["IGNORE", "EXPECT_EXIST", "EXPECT_NOT_EXIST"] as const;
const COMPARATORS = [, "EQUAL", "NOT_EQUAL", "GREATER_THAN", "GREATER_EQUAL", "LESS_THAN", "LESS_EQUAL", "EXIST", "NOT_EXIST"] as const;
const OPERATORS = [, "NOT", "AND", "OR"] as const;
const CASTS = ["INTEGER", "DOUBLE", , "STRING"] as const;
const EMPTY = new Uint8Array(0);

/** A request as it came. */
export interface Came {
  readonly operation: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

type Package = Pick<typeof import("../../src/index.js"), "double">;

/** Answers of an instance. `came` notes what was asked. */
export class TestService {
  readonly came: Came[] = [];
  private readonly transactions = new Map<string, Transaction>();

  constructor(
    private readonly db: Database,
    private readonly package_: Package,
    private readonly signer = SIGNER,
  ) {}

  /** The names of the operations that were asked for. */
  get operations(): string[] {
    return this.came.map(({ operation }) => operation);
  }

  /** What `connect` takes as its `fetch`. */
  readonly fetch: Fetch = async (url, init) => {
    const path = new URL(url).pathname;
    const headers = init.headers as Record<string, string>;
    const body = init.body as Uint8Array<ArrayBuffer>;
    const date = headers["x-ots-date"]!;
    assert.deepEqual(headers, await signed(path, body, headers["x-ots-instancename"]!, this.signer, date));
    this.came.push({ operation: path.slice(1), body: body.slice(), headers });
    try {
      return await answer(path, 200, await this.answer(path.slice(1), body), this.signer, date);
    } catch (error) {
      const { code, message, status, name } = error as { code: string; message: string; status: number; name: string };
      if (name !== "TabStoreError") throw error;
      return answer(path, status, encode(m.ServiceError, { code, message }), this.signer, date);
    }
  };

  private answer(operation: string, body: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    const method = (this as unknown as Record<string, (body: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>>)[operation];
    assert.ok(method !== undefined, `an operation ${operation}`);
    return method.call(this, body);
  }

  private on(transactionId: string | undefined): Database {
    if (transactionId === undefined) return this.db;
    const transaction = this.transactions.get(transactionId);
    if (transaction === undefined)
      throw Object.assign(new Error("Session not exist or may be timeout."), { code: "OTSSessionNotExist", status: 404, name: "TabStoreError" });
    return transaction as unknown as Database;
  }

  // -------------------------------------------------------------------------------------------- tables

  async CreateTable(body: Uint8Array) {
    const { meta, options, throughput, stream, indexes, enableLocalTransaction } = decode(t.CreateTable, body);
    await this.db.createTable({
      tableName: meta!.tableName!,
      primaryKey: meta!.primaryKey!.map(({ name, type, option }) => ({ name: name!, type: KEY_TYPES[Number(type)], autoIncrement: option === 1 })),
      definedColumns: meta!.definedColumns!.map(({ name, type }) => ({ name: name!, type: COLUMN_TYPES[Number(type)]! })),
      indexes: indexes!.map(indexOf),
      ...optionsOf(options),
      reservedThroughput: { read: Number(throughput!.units!.read), write: Number(throughput!.units!.write) },
      stream: streamOf(stream),
      // The service's own default.
      enableLocalTransaction: enableLocalTransaction ?? false,
    });
    return EMPTY;
  }

  async ListTable(body: Uint8Array) {
    assert.equal(body.length, 0);
    return encode(t.TableNames, { names: await this.db.listTable() });
  }

  async DescribeTable(body: Uint8Array) {
    const d = await this.db.describeTable(decode(m.TableName, body).tableName!);
    const created = Math.floor(d.creationTime / 1000);
    const seconds = (ms: number | null) => (ms === null ? undefined : Math.floor(ms / 1000));
    return encode(t.TableAnswer, {
      meta: {
        tableName: d.tableName,
        primaryKey: d.primaryKey.map(({ name, type, autoIncrement }) => ({ name, type: KEY_TYPES.indexOf(type), option: autoIncrement ? 1 : undefined })),
        definedColumns: d.definedColumns.map(({ name, type }) => ({ name, type: COLUMN_TYPES.indexOf(type as never) })),
      },
      throughput: {
        units: { read: d.reservedThroughput.read, write: d.reservedThroughput.write },
        lastIncrease: seconds(d.reservedThroughput.lastIncreaseTime) ?? created,
        lastDecrease: seconds(d.reservedThroughput.lastDecreaseTime),
      },
      options: { timeToLive: d.timeToLive, maxVersions: d.maxVersions, deviation: d.maxVersionOffset, allowUpdate: d.allowUpdate },
      stream:
        d.stream === null
          ? { enable: false }
          : {
              enable: true,
              streamId: d.stream.streamId,
              expirationHours: d.stream.expirationHours,
              lastEnableTime: d.stream.creationTime * 1000,
              originColumns: d.stream.originColumns,
            },
      indexes: d.indexes.map(({ indexName, primaryKey, columns, type, phase }) => ({
        name: indexName,
        primaryKey,
        columns,
        updateMode: type === "LOCAL" ? 1 : 0,
        type: type === "LOCAL" ? 1 : 0,
        phase: phase === "FULL" ? 1 : 2,
      })),
      creationTime: d.creationTime * 1000,
    });
  }

  async UpdateTable(body: Uint8Array) {
    const { tableName, options, throughput, stream } = decode(t.UpdateTable, body);
    const units = throughput?.units;
    await this.db.updateTable({
      tableName: tableName!,
      ...optionsOf(options),
      ...(units && {
        reservedThroughput: { ...(units.read !== undefined && { read: Number(units.read) }), ...(units.write !== undefined && { write: Number(units.write) }) },
      }),
      stream: streamOf(stream),
    });
    return EMPTY;
  }

  async DeleteTable(body: Uint8Array) {
    await this.db.deleteTable(decode(m.TableName, body).tableName!);
    return EMPTY;
  }

  async CreateIndex(body: Uint8Array) {
    const { tableName, index, includeBaseData } = decode(t.CreateIndex, body);
    await this.db.createIndex({ tableName: tableName!, index: indexOf(index!), includeBaseData });
    return EMPTY;
  }

  async DropIndex(body: Uint8Array) {
    const { tableName, indexName } = decode(t.DropIndex, body);
    await this.db.dropIndex({ tableName: tableName!, indexName: indexName! });
    return EMPTY;
  }

  async AddDefinedColumn(body: Uint8Array) {
    const { tableName, columns } = decode(t.AddDefinedColumn, body);
    await this.db.addDefinedColumn({ tableName: tableName!, columns: columns!.map(({ name, type }) => ({ name: name!, type: COLUMN_TYPES[Number(type)]! })) });
    return EMPTY;
  }

  async DeleteDefinedColumn(body: Uint8Array) {
    const { tableName, columns } = decode(t.DeleteDefinedColumn, body);
    await this.db.deleteDefinedColumn({ tableName: tableName!, columns: columns! });
    return EMPTY;
  }

  async ComputeSplitPointsBySize(body: Uint8Array) {
    const { tableName, size, unitBytes, limit } = decode(t.ComputeSplits, body);
    const given = { ...(unitBytes !== undefined && { splitSizeUnitBytes: Number(unitBytes) }), ...(limit !== undefined && { splitPointLimit: Number(limit) }) };
    const { primaryKey, splits, consumed } = await this.db.computeSplitPointsBySize({ tableName: tableName!, splitSize: Number(size), ...given });
    const point = (key: RangeKey) => Object.entries(key).filter(([, value]) => !isInfinity(value));
    return encode(t.Splits, {
      consumed: { units: consumed },
      schema: primaryKey.map(({ name, type }) => ({ name, type: KEY_TYPES.indexOf(type) })),
      points: splits.slice(1).map(({ lower }) => writeRow(point(lower).map(([name, value]) => ({ name, variant: variantOf(value as never) })))),
      locations: splits.map(({ location }) => ({ location, repeat: zigzag(1) })),
    });
  }

  // -------------------------------------------------------------------------------------------- rows

  async GetRow(body: Uint8Array) {
    const { tableName, key, transactionId, ...selection } = decode(m.GetRow, body);
    const { row, consumed } = await this.on(transactionId).getRow({
      tableName: tableName!,
      primaryKey: keyOf(readRows(key)[0]!),
      ...this.selection(selection),
    });
    return encode(m.RowAnswer, { consumed: { units: consumed }, row: row === null ? EMPTY : pack(row) });
  }

  private write(type: number, row: Uint8Array, condition: Fields<typeof m.WriteRow>["condition"], returns: Fields<typeof m.WriteRow>["returns"]) {
    const { key, cells } = readRows(row)[0]!;
    const returnContent = returns === undefined ? undefined : returns.type === 1 ? ("PRIMARY_KEY" as const) : { afterModify: returns.columns! };
    const rest = {
      primaryKey: keyOf({ key, cells: [], time: undefined }),
      condition: { rowExistence: EXISTENCE[Number(condition!.existence)]!, ...(condition!.column && { column: this.filter(condition!.column) }) },
      ...(returnContent && { returnContent }),
    };
    const puts = (wanted: readonly ReadCell[]) => {
      const columns: Record<string, unknown[]> = {};
      for (const cell of wanted)
        (columns[cell.name] ??= []).push({ value: this.value(cell), ...(cell.version !== undefined && { version: Number(cell.version) }) });
      return columns as never;
    };
    if (type === 1) return { put: { ...rest, attributes: puts(cells) } as never };
    if (type === 3) return { delete: rest as never };
    const deleteVersions: Record<string, number[]> = {};
    for (const { name, version } of cells.filter(({ op }) => op === 3)) (deleteVersions[name] ??= []).push(Number(version));
    return {
      update: {
        ...rest,
        put: puts(cells.filter(({ op }) => op === 0)),
        deleteVersions,
        deleteColumns: cells.filter(({ op }) => op === 1).map(({ name }) => name),
        increment: Object.fromEntries(cells.filter(({ op }) => op === 4).map(({ name, value }) => [name, value as number])),
      } as never,
    };
  }

  private async one(type: number, body: Uint8Array) {
    const { tableName, row, condition, returns, transactionId } = decode(m.WriteRow, body);
    const { put, update, delete: gone } = this.write(type, row!, condition, returns) as Record<string, object | undefined>;
    const db = this.on(transactionId);
    const request = { tableName: tableName!, ...(put ?? update ?? gone) } as never;
    const result = await (type === 1 ? db.putRow(request) : type === 2 ? db.updateRow(request) : db.deleteRow(request));
    return encode(m.RowAnswer, { consumed: { units: result.consumed }, row: result.row === null ? undefined : pack(result.row) });
  }

  PutRow(body: Uint8Array) {
    return this.one(1, body);
  }

  UpdateRow(body: Uint8Array) {
    return this.one(2, body);
  }

  DeleteRow(body: Uint8Array) {
    return this.one(3, body);
  }

  async BatchGetRow(body: Uint8Array) {
    const tables = decode(m.BatchGetRow, body).tables!.map(({ tableName, keys, ...selection }) => ({
      tableName: tableName!,
      primaryKeys: keys!.map((key) => keyOf(readRows(key)[0]!)),
      ...this.selection(selection),
    }));
    const results = await this.db.batchGetRow(tables);
    return encode(m.BatchAnswer, {
      tables: results.map((rows, at) => ({
        tableName: tables[at]!.tableName,
        rows: rows.map(({ ok, row, consumed, error }) => ({
          isOk: ok,
          error: error && { code: error.code, message: error.message },
          consumed: consumed && { units: consumed },
          row: row ? pack(row) : undefined,
        })),
      })),
    });
  }

  async BatchWriteRow(body: Uint8Array) {
    const { tables = [], transactionId, isAtomic } = decode(m.BatchWriteRow, body);
    const rows = tables.flatMap(({ tableName, rows }) =>
      rows!.map(({ type, row, condition, returns }) => ({ tableName: tableName!, ...this.write(Number(type), row!, condition, returns) })),
    );
    const results = await this.on(transactionId).batchWriteRow(rows as never, isAtomic ? { atomic: true } : undefined);
    let next = 0;
    return encode(m.BatchAnswer, {
      tables: tables.map(({ tableName, rows }) => ({
        tableName,
        rows: rows!.map(() => {
          const { ok, row, consumed, error } = results[next++]!;
          return {
            isOk: ok,
            error: error && { code: error.code, message: error.message },
            consumed: consumed && { units: consumed },
            row: row ? pack(row) : undefined,
          };
        }),
      })),
    });
  }

  async GetRange(body: Uint8Array) {
    const { tableName, direction, limit, start, end, transactionId, ...selection } = decode(m.GetRange, body);
    const { rows, nextStartPrimaryKey, consumed } = await this.on(transactionId).getRange({
      tableName: tableName!,
      direction: direction === 1 ? "BACKWARD" : "FORWARD",
      start: keyOf(readRows(start)[0]!) as RangeKey,
      end: keyOf(readRows(end)[0]!) as RangeKey,
      ...(limit !== undefined && { limit: Number(limit) }),
      ...this.selection(selection),
    });
    const next = nextStartPrimaryKey && writeRow(Object.entries(nextStartPrimaryKey).map(([name, value]) => ({ name, variant: variantOf(value) })));
    return encode(m.RangeAnswer, { consumed: { units: consumed }, rows: packAll(rows), next: next ?? undefined });
  }

  // -------------------------------------------------------------------------------------------- transactions, streams

  async StartLocalTransaction(body: Uint8Array) {
    const { tableName, key } = decode(m.StartTransaction, body);
    const transaction = await this.db.startLocalTransaction({ tableName: tableName!, partitionKey: keyOf(readRows(key)[0]!) as never });
    this.transactions.set(transaction.id, transaction);
    return encode(m.TransactionId, { transactionId: transaction.id });
  }

  async CommitTransaction(body: Uint8Array) {
    await (this.on(decode(m.TransactionId, body).transactionId) as unknown as Transaction).commit();
    return EMPTY;
  }

  async AbortTransaction(body: Uint8Array) {
    await (this.on(decode(m.TransactionId, body).transactionId) as unknown as Transaction).abort();
    // As for the SDK of Node.
    return encode(m.TransactionId, decode(m.TransactionId, body));
  }

  async ListStream(body: Uint8Array) {
    const { tableName } = decode(m.TableName, body);
    const streams = await this.db.listStream(tableName === undefined ? {} : { tableName });
    return encode(t.Streams, { streams: streams.map((one) => ({ streamId: one.streamId, tableName: one.tableName, creationTime: one.creationTime * 1000 })) });
  }

  async DescribeStream(body: Uint8Array) {
    const { streamId, startShardId, limit } = decode(t.DescribeStream, body);
    const from = { ...(startShardId !== undefined && { inclusiveStartShardId: startShardId }), ...(limit !== undefined && { shardLimit: Number(limit) }) };
    const page = await this.db.describeStream({ streamId: streamId!, ...from });
    return encode(t.StreamAnswer, {
      streamId: page.streamId,
      expirationHours: page.expirationHours,
      tableName: page.tableName,
      creationTime: page.creationTime * 1000,
      status: 2,
      shards: page.shards.map(({ shardId, parentId, parentSiblingId }) => ({
        shardId,
        parentId: parentId ?? undefined,
        parentSiblingId: parentSiblingId ?? undefined,
      })),
      nextShardId: page.nextShardId ?? undefined,
    });
  }

  async GetShardIterator(body: Uint8Array) {
    const { streamId, shardId, timestamp } = decode(t.GetShardIterator, body);
    const time = timestamp === undefined ? {} : { timestamp: Math.floor(Number(timestamp) / 1000) };
    return encode(t.ShardIterator, { shardIterator: await this.db.getShardIterator({ streamId: streamId!, shardId: shardId!, ...time }) });
  }

  async GetStreamRecord(body: Uint8Array) {
    const { shardIterator, limit } = decode(t.GetStreamRecord, body);
    const page = await this.db.getStreamRecord({ shardIterator: shardIterator!, ...(limit !== undefined && { limit: Number(limit) }) });
    const key = (values: Readonly<Record<string, unknown>>): Cell[] =>
      Object.entries(values).map(([name, value]) => ({ name, variant: variantOf(value as never) }));
    return encode(t.StreamRecords, {
      records: page.records.map(({ type, primaryKey, cells, original, timestamp }) => ({
        type: ["PUT", "UPDATE", "DELETE"].indexOf(type) + 1,
        record: withTime(
          writeRow(
            key(primaryKey),
            cells.map((cell): Cell => {
              if (cell.op === "DELETE_ALL") return { name: cell.name, op: 1 };
              return cell.op === "DELETE"
                ? { name: cell.name, op: 3, version: cell.version }
                : { name: cell.name, version: cell.version, variant: { ...variantOf(cell.value), ...(cell.type && { type: TYPE.DOUBLE }) } };
            }),
          ),
          timestamp,
        ),
        original: Object.keys(original).length === 0 ? undefined : writeRow(key(primaryKey), key(original)),
      })),
      nextShardIterator: page.nextShardIterator ?? undefined,
      consumed: { units: page.consumed },
      mayMoreRecord: page.mayMoreRecord,
    });
  }

  // -------------------------------------------------------------------------------------------- values

  private value({ type, value }: { readonly type: number; readonly value?: unknown }): never {
    return (type === TYPE.DOUBLE ? this.package_.double(value as number) : value) as never;
  }

  private selection(given: Partial<Fields<typeof m.GetRow>>) {
    const { columnsToGet, timeRange, maxVersions, filter, startColumn, endColumn } = given;
    return {
      ...(columnsToGet!.length > 0 && { columnsToGet }),
      ...(timeRange && { timeRange: timeRange.version === undefined ? { start: timeRange.start!, end: timeRange.end! } : { version: timeRange.version } }),
      ...(maxVersions !== undefined && { maxVersions: Number(maxVersions) }),
      ...(filter && { filter: this.filter(filter) }),
      ...(startColumn !== undefined && { startColumn }),
      ...(endColumn !== undefined && { endColumn }),
    };
  }

  private filter(bytes: Uint8Array): Filter {
    const { type, filter } = decode(m.AnyFilter, bytes);
    if (type === 3) return decode(m.PageFilter, filter!) as never;
    if (type === 2) {
      const { combinator, filters } = decode(m.CompositeFilter, filter!);
      return { operator: OPERATORS[Number(combinator)]!, filters: filters!.map((one) => this.filter(encode(m.AnyFilter, one))) };
    }
    const { comparator, column, value, filterIfMissing, latestVersionOnly, rule } = decode(m.ColumnFilter, filter!);
    const common = { column: column!, comparator: COMPARATORS[Number(comparator)]! };
    if (Number(comparator) > 6) return common;
    return {
      ...common,
      value: this.value(readVariant(value!)),
      passIfMissing: !filterIfMissing,
      latestVersionOnly: latestVersionOnly!,
      ...(rule && { valueTransferRule: { regex: rule.regex!, castType: CASTS[Number(rule.castType)]! } }),
    };
  }
}

/** A response of the service, with a signature. */
export async function answer(path: string, status: number, body: Uint8Array<ArrayBuffer>, signer: Signer, date: string): Promise<Response> {
  const headers: Record<string, string> = {
    "x-ots-contentmd5": await md5Of(body),
    "x-ots-requestid": "0005-req",
    "x-ots-date": new Date().toISOString(),
    "x-ots-contenttype": "protocol buffer",
  };
  return new Response(body, { status, headers: { ...headers, Authorization: await authorizationOf(path, Object.entries(headers), signer, date) } });
}

/** A message as a response. */
export const answered = async <M extends Message>(path: string, message: M, value: Fields<M>): Promise<Response> =>
  answer(path, 200, encode(message, value), SIGNER, new Date().toISOString());

const zigzag = (value: number): number => value * 2;

function indexOf({ name, primaryKey, columns, type }: NonNullable<Fields<typeof t.CreateIndex>["index"]>) {
  return { indexName: name!, primaryKey: primaryKey!, columns: columns!, type: type === 1 ? ("LOCAL" as const) : ("GLOBAL" as const) };
}

function optionsOf(options: Fields<typeof t.CreateTable>["options"]) {
  const { timeToLive, maxVersions, deviation, allowUpdate } = options ?? {};
  return {
    ...(timeToLive !== undefined && { timeToLive: Number(timeToLive) }),
    ...(maxVersions !== undefined && { maxVersions: Number(maxVersions) }),
    ...(deviation !== undefined && { maxVersionOffset: Number(deviation) }),
    ...(allowUpdate !== undefined && { allowUpdate }),
  };
}

function streamOf(stream: Fields<typeof t.CreateTable>["stream"]) {
  if (stream === undefined) return undefined;
  return stream.enable
    ? { enabled: true as const, expirationHours: Number(stream.expirationHours), originColumns: stream.originColumns }
    : { enabled: false as const };
}

const isInfinity = (value: unknown): boolean => typeof value === "object" && value !== null && "infinity" in value;

function keyOf({ key }: ReadRow): never {
  return Object.fromEntries(
    key.map(({ name, type, value }) => [
      name,
      type === TYPE.INF_MIN ? INF_MIN : type === TYPE.INF_MAX ? INF_MAX : type === TYPE.AUTO_INCREMENT ? AUTO_INCREMENT : value,
    ]),
  ) as never;
}

function variantOf(value: string | number | bigint | boolean | Uint8Array): Variant {
  if (typeof value === "string") return { type: TYPE.STRING, value };
  if (typeof value === "boolean") return { type: TYPE.BOOLEAN, value };
  if (value instanceof Uint8Array) return { type: TYPE.BLOB, value };
  return { type: typeof value === "bigint" || Number.isInteger(value) ? TYPE.INTEGER : TYPE.DOUBLE, value };
}

function readVariant(bytes: Uint8Array): { readonly type: number; readonly value: unknown } {
  // In a cell, a value has its length before it.
  const cell = Uint8Array.of(0x75, 0, 0, 0, 1, 3, 4, 0, 0, 0, 0, 5, ...new Uint8Array(Uint32Array.of(bytes.length).buffer), ...bytes);
  const crc = checksum(bytes);
  return readRows(Uint8Array.of(...cell, 10, crc, 9, checksum(Uint8Array.of(crc, 0))))[0]!.key[0]!;
}

function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 128 ? (crc << 1) ^ 7 : crc << 1) & 255;
  }
  return crc;
}

/** The types of values by their tags in a page. */
const TAGS: Readonly<Record<number, number>> = { 2: TYPE.INTEGER, 3: TYPE.DOUBLE, 4: TYPE.BOOLEAN, 5: TYPE.BOOLEAN, 6: TYPE.STRING, 7: TYPE.BLOB };

function pack(row: Row): Uint8Array {
  const cells: Cell[] = [];
  const [page, at, textAt] = (row as CellRow).place;
  page.eachCell(at, textAt, (name, tag, version, value) => {
    cells.push({ name, version, variant: { type: TAGS[tag]!, value } });
    return false;
  });
  return writeRow(
    Object.entries(row.primaryKey).map(([name, value]) => ({ name, variant: variantOf(value) })),
    cells,
  );
}

/** Rows back to back behind one header. */
function packAll(rows: readonly Row[]): Uint8Array {
  const packed = rows.map((row, i) => pack(row).subarray(i === 0 ? 0 : 4));
  return new Uint8Array(Buffer.concat(packed));
}

/** A row with the extension of a stream's record: `timestamp` in milliseconds. */
function withTime(row: Uint8Array, timestamp: number): Uint8Array {
  const extension = Buffer.alloc(29);
  extension.writeUInt8(0x0b, 0);
  extension.writeUInt32LE(24, 1);
  extension.writeUInt8(0x0c, 5);
  extension.writeUInt32LE(19, 6);
  extension.writeUInt8(0x0d, 10);
  extension.writeUInt32LE(1, 11);
  extension.writeUInt8(0x0e, 15);
  extension.writeBigInt64LE(BigInt(timestamp) * 1000n, 16);
  extension.writeUInt8(0x0f, 24);
  extension.writeUInt32LE(0, 25);
  return new Uint8Array(Buffer.concat([row.subarray(0, -2), extension, row.subarray(-2)]));
}
