/** Streams of the service: their shards and records, and the changes of a table. Loaded on first use. */

import { noStream, readChanges as read, type StreamSource } from "../changes/reader.js";
import { ARGUMENTS } from "../codec/contract-arguments.js";
import { setField } from "../codec/plain-object.js";
import type { CallOptions, KeyValue, Value } from "../types/rows.js";
import type {
  Change,
  ChangedCell,
  ChangesRequest,
  DescribeStreamRequest,
  DescribeStreamResult,
  GetShardIteratorRequest,
  GetStreamRecordRequest,
  GetStreamRecordResult,
  ListStreamRequest,
  StreamDescription,
  StreamRecord,
  StreamShard,
} from "../types/streams.js";
import type { Connection } from "./connection.js";
import { damaged } from "./errors.js";
import { TableName } from "./messages.js";
import { CELL_OP, type ReadCell, readRows, TYPE } from "./plain-buffer.js";
import type { Fields } from "./protobuf.js";
import * as m from "./table-messages.js";
import { consumedOf } from "./answers.js";
import { callerValue, keyOf } from "./row.js";
import { pause } from "./service.js";
import { describeTable } from "./tables.js";

const TYPES = [, "PUT", "UPDATE", "DELETE"] as StreamRecord["type"][];
/** Microseconds. */
const MILLISECOND = 1000;

/** The implementation of {@link Database.listStream}. What the service does not list is in the descriptions of the tables. */
export async function listStream(connection: Connection, request: ListStreamRequest): Promise<StreamDescription[]> {
  const { tableName } = ARGUMENTS.listStream(request, "listStream") as ListStreamRequest;
  const { streams = [] } = await connection.ask("ListStream", TableName, { tableName }, m.Streams, request);
  const tables = await Promise.all(streams.map((stream) => describeTable(connection, { tableName: stream.tableName!, signal: request.signal })));
  return tables.flatMap(({ stream }) => (stream === null ? [] : [stream]));
}

/** The implementation of {@link Database.describeStream}. */
export async function describeStream(connection: Connection, request: DescribeStreamRequest): Promise<DescribeStreamResult> {
  const {
    streamId,
    inclusiveStartShardId: startShardId,
    shardLimit: limit,
  } = ARGUMENTS.describeStream(request, "describeStream") as unknown as DescribeStreamRequest;
  const answer = await connection.ask("DescribeStream", m.DescribeStream, { streamId, startShardId, limit }, m.StreamAnswer, request);
  const { tableName = "", shards = [], nextShardId } = answer;
  const parents = new Set(shards.flatMap(({ parentId, parentSiblingId }) => [parentId, parentSiblingId]));
  const { stream } = await describeTable(connection, { tableName, signal: request.signal });
  return {
    streamId,
    tableName,
    expirationHours: Number(answer.expirationHours ?? 0),
    creationTime: Math.floor(Number(answer.creationTime ?? 0) / MILLISECOND),
    originColumns: stream?.streamId === streamId ? stream.originColumns : [],
    status: "ACTIVE",
    shards: shards.map(
      ({ shardId = "", parentId, parentSiblingId }): StreamShard => ({
        shardId,
        parentId: parentId || null,
        parentSiblingId: parentSiblingId || null,
        lowerBound: null,
        upperBound: null,
        // A shard ends when it gets children.
        closed: parents.has(shardId),
      }),
    ),
    nextShardId: nextShardId || null,
    lastSequence: connection.service.now(1) * MILLISECOND,
  };
}

/**
 * The implementation of {@link Database.getShardIterator}. The service knows no end of a shard, but a time. It is the earliest that it may
 * be there, so that nothing is missed: records of the last moments may come again.
 */
export async function getShardIterator(connection: Connection, request: GetShardIteratorRequest): Promise<string> {
  const { streamId, shardId, timestamp, latest } = ARGUMENTS.getShardIterator(request, "getShardIterator") as unknown as GetShardIteratorRequest;
  const time = latest ? connection.service.now(0) : timestamp;
  const asked = { streamId, shardId, timestamp: time === undefined ? undefined : BigInt(time) * BigInt(MILLISECOND) };
  const { shardIterator } = await connection.ask("GetShardIterator", m.GetShardIterator, asked, m.ShardIterator, request);
  if (shardIterator === undefined) throw damaged("it has no shard iterator");
  return shardIterator;
}

function changedCell(cell: ReadCell, bigints: boolean): ChangedCell {
  const { name, op, version } = cell;
  if (op === CELL_OP.DELETE_ALL) return { op: "DELETE_ALL", name };
  if (op === CELL_OP.DELETE_ONE) return { op: "DELETE", name, version: Number(version) };
  const value = callerValue(cell, bigints);
  const put = { op: "PUT", name, version: Number(version), value } as const;
  return cell.type === TYPE.DOUBLE && Number.isInteger(value) ? { ...put, type: "DOUBLE" } : put;
}

function recordOf({ type, record, original }: NonNullable<Fields<typeof m.StreamRecords>["records"]>[number], bigints: boolean): StreamRecord {
  const [row] = readRows(record);
  if (row === undefined) throw damaged("a record of a stream has no row");
  const before: Record<string, Value> = {};
  for (const cell of readRows(original)[0]?.cells ?? []) if (!Object.hasOwn(before, cell.name)) setField(before, cell.name, callerValue(cell, bigints));
  return {
    type: TYPES[Number(type)],
    primaryKey: keyOf(row.key, bigints) as Record<string, KeyValue>,
    cells: row.cells.map((cell) => changedCell(cell, bigints)),
    original: before,
    timestamp: Math.floor((row.time ?? 0) / MILLISECOND),
    sequence: row.time ?? 0,
  };
}

/** The implementation of {@link Database.getStreamRecord}. */
export async function getStreamRecord(connection: Connection, request: GetStreamRecordRequest): Promise<GetStreamRecordResult> {
  const { shardIterator, limit } = ARGUMENTS.getStreamRecord(request, "getStreamRecord") as unknown as GetStreamRecordRequest;
  const answer = await connection.ask("GetStreamRecord", m.GetStreamRecord, { shardIterator, limit }, m.StreamRecords, request);
  const { records = [], nextShardIterator, mayMoreRecord, consumed } = answer;
  return {
    records: records.map((record) => recordOf(record, connection.bigints)),
    nextShardIterator: nextShardIterator ?? null,
    // An older service does not tell: where something was, there may be more.
    mayMoreRecord: mayMoreRecord ?? records.length > 0,
    consumed: consumedOf(consumed),
  };
}

/** The implementation of {@link Database.changes}. The service does not wait for records, so it is asked at intervals. */
export function readChanges(connection: Connection, pollInterval: number, request: ChangesRequest): AsyncIterableIterator<Change> {
  const source: StreamSource = {
    get closedBy() {
      return connection.closedBy;
    },
    streamOf: async (tableName, call) => {
      const { stream } = await describeTable(connection, { tableName, ...call });
      if (stream === null) throw noStream(tableName);
      return stream;
    },
    describe: (streamId, inclusiveStartShardId, call) => describeStream(connection, { streamId, inclusiveStartShardId, ...call }),
    iteratorOf: (streamId, shardId, start, call) => getShardIterator(connection, { streamId, shardId, ...start, ...call }),
    records: (shardIterator, call) => getStreamRecord(connection, { shardIterator, ...call }),
    awaitRecords: (_iterators, call: CallOptions) => pause(pollInterval, call.signal),
  };
  return read(source, request);
}
