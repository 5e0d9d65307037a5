/** Streams of an instance in this browser: asks its engine for them, and reads their records [ST1] to [ST3]. Loaded on first use. */

import type { Client } from "../client/client.js";
import { ARGUMENTS } from "../codec/contract-arguments.js";
import { TAG } from "../codec/contract.js";
import { setField } from "../codec/plain-object.js";
import { Reader } from "../codec/reader.js";
import { local } from "../types/errors.js";
import { noStream, readChanges as read, type ShardStart, shardsOf as allShards, type StreamSource } from "./reader.js";
import type {
  Change,
  ChangedCell,
  ChangesRequest,
  DescribeStreamRequest,
  DescribeStreamResult,
  GetStreamRecordRequest,
  GetStreamRecordResult,
  StreamDescription,
  StreamRecord,
  StreamShard,
} from "../types/streams.js";
import type { CallOptions, Consumed, KeyValue, Value } from "../types/rows.js";

const TYPES = ["PUT", "UPDATE", "DELETE"] as const;
const DELETE = 2;

function readValue(reader: Reader, bigints: boolean): Value {
  const tag = reader.u8();
  switch (tag) {
    case TAG.INTEGER: {
      const value = reader.sv();
      return bigints ? BigInt(value) : value;
    }
    case TAG.DOUBLE:
      return reader.f64();
    case TAG.FALSE:
      return false;
    case TAG.TRUE:
      return true;
    case TAG.STRING:
      return reader.str();
    default:
      return reader.binary();
  }
}

function readRecord(reader: Reader, names: readonly string[], bigints: boolean): StreamRecord {
  const sequence = reader.uv();
  const timestamp = Number(reader.sv());
  const end = reader.uv() + reader.at;
  const type = TYPES[reader.u8()];
  if (type === undefined) throw local("OTSInternalServerError", "A record of a stream has an unknown kind.");
  const primaryKey: Record<string, KeyValue> = {};
  for (let i = 0, columns = reader.uv(); i < columns; i++) setField(primaryKey, names[i], readValue(reader, bigints) as KeyValue);
  const stamp = Number(reader.sv());
  const cells: ChangedCell[] = [];
  for (let left = reader.uv(); left > 0; left--) {
    const name = reader.str();
    const op = reader.u8();
    if (op > DELETE) {
      cells.push({ op: "DELETE_ALL", name });
      continue;
    }
    const version = stamp + Number(reader.sv());
    if (op === DELETE) {
      cells.push({ op: "DELETE", name, version });
      continue;
    }
    const isDouble = reader.bytes[reader.at] === TAG.DOUBLE;
    const value = readValue(reader, bigints);
    cells.push(isDouble && Number.isInteger(value) ? { op: "PUT", name, version, value, type: "DOUBLE" } : { op: "PUT", name, version, value });
  }
  const original: Record<string, Value> = {};
  while (reader.at < end) {
    const name = reader.str();
    reader.sv();
    setField(original, name, readValue(reader, bigints));
  }
  return { type, primaryKey, cells, original, timestamp, sequence };
}

/** What the engine answers. */
interface Records {
  readonly records: Uint8Array;
  readonly primaryKey: readonly string[];
  readonly nextShardIterator: string | null;
  readonly mayMoreRecord: boolean;
  readonly consumed: Consumed;
}

/** The implementation of {@link Database.getStreamRecord}. */
export async function getStreamRecord(client: Client, request: GetStreamRecordRequest): Promise<GetStreamRecordResult> {
  const {
    records: bytes,
    primaryKey,
    ...rest
  } = await client.admin<Records>("getStreamRecord", ARGUMENTS.getStreamRecord(request, "getStreamRecord"), request);
  const reader = new Reader(bytes);
  const records: StreamRecord[] = [];
  while (reader.at < bytes.length) records.push(readRecord(reader, primaryKey, client.bigints));
  return { records, ...rest };
}

/** What the engine answers: ids are numbers there. */
type EngineShard = Omit<StreamShard, "shardId" | "parentId" | "parentSiblingId"> &
  Record<"shardId", number> &
  Record<"parentId" | "parentSiblingId", number | null>;

/** The implementation of {@link Database.describeStream}. */
export async function describeStream(client: Client, request: DescribeStreamRequest): Promise<DescribeStreamResult> {
  const args = ARGUMENTS.describeStream(request, "describeStream");
  const page = await client.admin<{ stream: StreamDescription; shards: EngineShard[]; nextShardId: number | null; lastSequence: number }>(
    "describeStream",
    args,
    request,
  );
  const id = (number: number | null): string | null => (number === null ? null : String(number));
  const bound = (value: KeyValue | null): KeyValue | null => (typeof value === "number" && client.bigints ? BigInt(value) : value);
  const shards = page.shards.map((shard) => ({
    ...shard,
    shardId: String(shard.shardId),
    parentId: id(shard.parentId),
    parentSiblingId: id(shard.parentSiblingId),
    lowerBound: bound(shard.lowerBound),
    upperBound: bound(shard.upperBound),
  }));
  return { ...page.stream, status: "ACTIVE", shards, nextShardId: id(page.nextShardId), lastSequence: page.lastSequence };
}

/** Whether a table is one of an Azure account, whose rows only the entry for it can read. */
export const isOfAccount = (tableName: string): boolean => tableName.includes("/");

/** The call that enables the stream of a table, where it is another one than for most. */
function enabling(tableName: string): string | undefined {
  if (!isOfAccount(tableName)) return undefined;
  const [account, table] = tableName.split("/");
  return `azure(db, "${account}").table("${table}").enableStream({ expirationHours: 24 })`;
}

/** The stream of a table. `what`: the call that needs it. */
export async function streamOf(client: Client, tableName: string, what: string, call: CallOptions): Promise<StreamDescription> {
  const [stream] = await client.admin<StreamDescription[]>("listStream", ARGUMENTS.listStream({ tableName }, what), call);
  if (stream !== undefined) return stream;
  throw noStream(tableName, enabling(tableName));
}

/** The shards of a stream, parents before children. */
export const shardsOf = (client: Client, streamId: string, call: CallOptions): Promise<StreamShard[]> => allShards(sourceOf(client), streamId, call);

/** The iterator of a shard. */
export function iteratorOf(client: Client, streamId: string, shardId: string, start: ShardStart, call: CallOptions): Promise<string> {
  return client.admin<string>("getShardIterator", ARGUMENTS.getShardIterator({ streamId, shardId, ...start }, "getShardIterator"), call);
}

/** Waits until there may be records behind one of the iterators, 20 s at most. */
export async function awaitRecords(client: Client, shardIterators: readonly string[], call: CallOptions): Promise<void> {
  await client.admin("awaitStreamRecord", ARGUMENTS.awaitStreamRecord({ shardIterators }, "awaitStreamRecord"), call);
}

/** An instance in this browser, as readers ask it. */
const sourceOf = (client: Client): StreamSource => ({
  get closedBy() {
    return client.closedBy;
  },
  streamOf: (tableName, call) => streamOf(client, tableName, "changes", call),
  describe: (streamId, inclusiveStartShardId, call) => describeStream(client, { streamId, inclusiveStartShardId, ...call }),
  iteratorOf: (streamId, shardId, start, call) => iteratorOf(client, streamId, shardId, start, call),
  records: (shardIterator, call) => getStreamRecord(client, { shardIterator, ...call }),
  awaitRecords: (shardIterators, call) => awaitRecords(client, shardIterators, call),
});

/** The implementation of {@link Database.changes}. */
export const readChanges = (client: Client, request: ChangesRequest): AsyncIterableIterator<Change> => read(sourceOf(client), request);
