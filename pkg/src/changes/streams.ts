/** Streams: reads their records, and walks their shards [ST1] to [ST3]. Loaded on first use. */

import type { Client } from "../client/client.js";
import { ARGUMENTS } from "../codec/contract-arguments.js";
import { checkArguments } from "../codec/check.js";
import { TAG } from "../codec/contract.js";
import { kindOf, shown } from "../codec/kinds.js";
import { setField } from "../codec/field.js";
import { Reader } from "../codec/reader.js";
import { invalid, local, TabStoreError } from "../types/errors.js";
import { abortReason, signalOf, whenAborted } from "../client/signals.js";
import type {
  Change,
  ChangedCell,
  ChangesRequest,
  DescribeStreamRequest,
  DescribeStreamResult,
  GetShardIteratorRequest,
  GetStreamRecordRequest,
  GetStreamRecordResult,
  StreamDescription,
  StreamRecord,
  StreamShard,
} from "../types/streams.js";
import type { CallOptions, Consumed, KeyValue, Value } from "../types/rows.js";

const CHANGES = new Set(["tableName", "from", "once", "signal"]);
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
    cells.push(op === DELETE ? { op: "DELETE", name, version } : { op: "PUT", name, version, value: readValue(reader, bigints) });
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

/** The place in a shard: an iterator, and how many records behind it have been taken. `null`: the shard was read to its end. */
type Place = readonly [iterator: string, taken: number] | null;

/** Whether a table is one of an Azure account, whose rows only the entry for it can read. */
export const isOfAccount = (tableName: string): boolean => tableName.includes("/");

/** The call that enables the stream of a table. */
function enabling(tableName: string): string {
  if (!isOfAccount(tableName)) return "updateTable({ tableName, stream: { enabled: true, expirationHours: 24 } })";
  const [account, table] = tableName.split("/");
  return `azure(db, "${account}").table("${table}").enableStream({ expirationHours: 24 })`;
}

/** The stream of a table. `what`: the call that needs it. */
export async function streamOf(client: Client, tableName: string, what: string, call: CallOptions): Promise<StreamDescription> {
  const [stream] = await client.admin<StreamDescription[]>("listStream", ARGUMENTS.listStream({ tableName }, what), call);
  if (stream !== undefined) return stream;
  throw new TabStoreError({
    code: "OTSObjectNotExist",
    status: 404,
    retryable: false,
    message: `Table '${tableName}' has no stream.`,
    hint: `Enable it: ${enabling(tableName)}.`,
  });
}

/** The shards of a stream, parents before children. */
export async function shardsOf(client: Client, streamId: string, call: CallOptions): Promise<StreamShard[]> {
  const shards: StreamShard[] = [];
  for (let next: string | null | undefined; next !== null; ) {
    const page: DescribeStreamResult = await describeStream(client, { streamId, inclusiveStartShardId: next, ...call });
    shards.push(...page.shards);
    next = page.nextShardId;
  }
  return shards;
}

const wrongFrom = (given: string): TabStoreError =>
  invalid(
    `The argument 'from' is ${given}; it must be 'oldest', 'latest', a time in milliseconds, or the token of a change.`,
    "'EARLIEST' and 'LATEST' are for db.consumer.",
  );

const expired = (message = "Records behind the token have expired."): TabStoreError =>
  new TabStoreError({
    code: "OTSTrimmedDataAccess",
    status: 400,
    retryable: false,
    message,
    hint: "Note the time, then read the table again, and go on from that time: changes({ from: time }).",
  });

function readToken(token: string, stream: string): Map<string, Place> {
  let given: unknown;
  try {
    given = JSON.parse(token);
  } catch {
    // It is refused below.
  }
  const [id, shards] = Array.isArray(given) ? (given as unknown[]) : [];
  const isPlace = (place: unknown): boolean =>
    place === null || (Array.isArray(place) && typeof place[0] === "string" && Number.isSafeInteger(place[1]) && (place[1] as number) >= 0);
  if (typeof id !== "string" || typeof shards !== "object" || shards === null || !Object.values(shards).every(isPlace)) {
    throw wrongFrom(shown(token));
  }
  if (id !== stream) throw expired("The stream of the token was disabled: its records are gone.");
  return new Map(Object.entries(shards as Record<string, Place>));
}

/** What {@link findShards} finds. */
export interface FoundShards {
  /** Shards with a place that can be read. */
  readonly open: readonly string[];
  /** Shards that can be read and have no place yet. */
  readonly fresh: readonly StreamShard[];
  /** Places of shards that nobody needs any more: read to their ends, and forgotten by the store. */
  readonly forgotten: readonly string[];
}

/**
 * Finds the shards that can be read: those whose parents were read to their ends. A place of `null`: read to its end. `goesOn`: all
 * that came before was read, so no shard may be missing.
 */
export function findShards(shards: readonly StreamShard[], places: ReadonlyMap<string, unknown>, goesOn: boolean): FoundShards {
  const kept = new Set(shards.map(({ shardId }) => shardId));
  // The place in a shard that is forgotten: the store tells whether something is missed.
  const open = [...places].filter(([shard, place]) => place !== null && !kept.has(shard)).map(([shard]) => shard);
  const fresh: StreamShard[] = [];
  const needed = new Set<string>();
  for (const shard of shards) {
    const { shardId } = shard;
    const parents = [shard.parentId, shard.parentSiblingId].filter((parent) => parent !== null);
    const isReady = !parents.some((parent) => kept.has(parent) && places.get(parent) !== null);
    if (!places.has(shardId)) {
      if (isReady && goesOn && parents.some((parent) => !places.has(parent))) throw expired();
      if (isReady) fresh.push(shard);
      else for (const parent of parents) needed.add(parent);
    } else if (isReady && places.get(shardId) !== null) {
      open.push(shardId);
    }
  }
  const forgotten = [...places].filter(([shard, place]) => place === null && !kept.has(shard) && !needed.has(shard)).map(([shard]) => shard);
  return { open, fresh, forgotten };
}

/** Where to begin in a shard: see {@link GetShardIteratorRequest}. */
export type ShardStart = Pick<GetShardIteratorRequest, "timestamp" | "latest" | "beginning">;

/** The iterator of a shard. */
export function iteratorOf(client: Client, streamId: string, shardId: string, start: ShardStart, call: CallOptions): Promise<string> {
  return client.admin<string>("getShardIterator", ARGUMENTS.getShardIterator({ streamId, shardId, ...start }, "getShardIterator"), call);
}

/** Waits until there may be records behind one of the iterators, 20 s at most. */
export async function awaitRecords(client: Client, shardIterators: readonly string[], call: CallOptions): Promise<void> {
  await client.admin("awaitStreamRecord", ARGUMENTS.awaitStreamRecord({ shardIterators }, "awaitStreamRecord"), call);
}

/** Reads the shards of a stream, each after its parents, and keeps their places. */
class Walk {
  /** The shards that can be read. */
  private open: string[] = [];

  /** Shards whose next record is behind {@link until}. */
  private readonly passed = new Set<string>();

  /** `until`: later records are not read. */
  constructor(
    private readonly client: Client,
    private readonly stream: string,
    private readonly call: CallOptions,
    private readonly places: Map<string, Place>,
    private readonly until: number,
  ) {}

  /**
   * Finds the shards that can be read: those whose parents were read to their ends. `start` makes the iterator of a new one.
   * `goesOn`: it has read all that came before, so it must not miss a shard.
   */
  async find(goesOn: boolean, start: (shard: StreamShard) => Promise<string>): Promise<void> {
    const { open, fresh, forgotten } = findShards(await shardsOf(this.client, this.stream, this.call), this.places, goesOn);
    this.open = [...open];
    for (const shard of fresh) {
      this.places.set(shard.shardId, [await start(shard), 0]);
      this.open.push(shard.shardId);
    }
    for (const shard of forgotten) this.places.delete(shard);
  }

  /** Throws if the reader has ended: changes that were read before are then not given. */
  private goOn(): void {
    const { signal } = this.call;
    if (signal?.aborted) throw abortReason(signal);
    if (this.client.closedBy !== undefined) throw this.client.closedBy;
  }

  /** Reads each open shard once. Returns whether there may be more at once. */
  async *read(): AsyncGenerator<Change, boolean, undefined> {
    let more = false;
    for (const shard of this.open) {
      const place = this.places.get(shard);
      if (place === null || place === undefined || this.passed.has(shard)) continue;
      const [iterator, taken] = place;
      const page = await getStreamRecord(this.client, { shardIterator: iterator, ...this.call });
      if (taken > page.records.length) throw wrongFrom("a token of another stream, or a changed one");
      const behind: Place = page.nextShardIterator === null ? null : [page.nextShardIterator, 0];
      // A token may be taken when other shards have been read on.
      const places = page.records.length > taken ? new Map(this.places) : this.places;
      for (let i = taken; i < page.records.length; i++) {
        if (page.records[i]!.sequence > this.until) {
          this.passed.add(shard);
          break;
        }
        const place: Place = i + 1 === page.records.length ? behind : [iterator, i + 1];
        const token = (): string => JSON.stringify([this.stream, Object.fromEntries(new Map(places).set(shard, place))]);
        this.places.set(shard, place);
        this.goOn();
        yield Object.defineProperty(page.records[i] as Change, "token", { get: token, enumerable: false });
      }
      if (this.passed.has(shard)) continue;
      this.places.set(shard, behind);
      more ||= page.mayMoreRecord || page.nextShardIterator === null || page.records.length > taken;
    }
    return more;
  }

  /** Waits until there may be more. */
  async wait(): Promise<void> {
    const shardIterators = this.open.map((shard) => this.places.get(shard)?.[0]).filter((iterator) => iterator !== undefined);
    await awaitRecords(this.client, shardIterators, this.call);
  }
}

/** The reason of a reader that was broken off. */
const BROKEN = new Error("The reader has ended.");

/** The implementation of {@link Database.changes}. A generator alone would end only after its next change. */
export function readChanges(client: Client, request: ChangesRequest): AsyncIterableIterator<Change> {
  const control = new AbortController();
  const given = signalOf(request);
  const abort = (): void => control.abort(given?.reason);
  if (given?.aborted) abort();
  const end = whenAborted(given, abort);
  const changes = changesOf(client, request, control.signal);
  const ended = { done: true, value: undefined } as const;
  return {
    async next() {
      try {
        const next = await changes.next();
        if (next.done) end();
        return next;
      } catch (error) {
        end();
        if (error === BROKEN) return ended;
        throw error;
      }
    },
    async return() {
      end();
      control.abort(BROKEN);
      await changes.return().catch(() => {});
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* changesOf(client: Client, request: ChangesRequest, signal: AbortSignal): AsyncGenerator<Change, void, undefined> {
  const { tableName, from = "oldest", once } = checkArguments<ChangesRequest>(request, CHANGES, "changes");
  if (typeof from !== "string" && !(typeof from === "number" && Number.isSafeInteger(from))) throw wrongFrom(kindOf(from));
  if (once !== undefined && typeof once !== "boolean") throw invalid(`The argument 'once' is ${kindOf(once)}; it must be true or false.`);
  const call: CallOptions = { signal };
  const { streamId } = await streamOf(client, tableName, "changes", call);
  // Shards that begin later are read from their beginning, at which nothing may be missing.
  let begins = from === "oldest" || from === "latest";
  const places = typeof from === "string" && !begins ? readToken(from, streamId) : new Map<string, Place>();
  // Who reads once and changes the table meanwhile does not read these changes.
  const until = once ? (await describeStream(client, { streamId, shardLimit: 1, ...call })).lastSequence : Infinity;
  const walk = new Walk(client, streamId, call, places, until);
  const start = ({ shardId }: StreamShard): Promise<string> =>
    iteratorOf(client, streamId, shardId, !begins ? { beginning: true } : from === "latest" ? { latest: true } : {}, call);
  if (typeof from === "number") {
    for (const { shardId } of await shardsOf(client, streamId, call))
      places.set(shardId, [await iteratorOf(client, streamId, shardId, { timestamp: from }, call), 0]);
  }
  // Shards that have ended count as read: what comes is in their children.
  if (from === "latest") for (const { shardId, closed } of await shardsOf(client, streamId, call)) if (closed) places.set(shardId, null);
  for (;;) {
    if (signal.aborted) throw abortReason(signal);
    await walk.find(!begins, start);
    begins = false;
    if (yield* walk.read()) continue;
    if (once) return;
    await walk.wait();
  }
}
