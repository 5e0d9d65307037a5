/** Streams: reads their records, and walks their shards [ST1] to [ST3]. Loaded on first use. */

import { ARGUMENTS } from "./arguments.js";
import type { Client } from "./client.js";
import { checkArguments } from "./codec/check.js";
import { kindOf, shown } from "./codec/kinds.js";
import { setField } from "./codec/page.js";
import { Reader } from "./codec/reader.js";
import { readTagged } from "./codec/tagged.js";
import { invalid, local, TabStoreError } from "./errors.js";
import { abortReason, signalOf } from "./signals.js";
import type {
  Change, ChangedCell, ChangesRequest, DescribeStreamRequest, DescribeStreamResult, GetStreamRecordRequest, GetStreamRecordResult, StreamDescription, StreamRecord,
  StreamShard,
} from "./stream-types.js";
import type { CallOptions, Consumed, KeyValue, Value } from "./types.js";

const CHANGES = new Set(["tableName", "from", "once", "signal"]);
const TYPES = ["PUT", "UPDATE", "DELETE"] as const;
const DELETE = 2;

function readRecord(reader: Reader, names: readonly string[], bigints: boolean): StreamRecord {
  const sequence = reader.uv();
  const timestamp = Number(reader.sv());
  const end = reader.uv() + reader.at;
  const type = TYPES[reader.u8()];
  if (type === undefined) throw local("OTSInternalServerError", "A record of a stream has an unknown kind.");
  const primaryKey: Record<string, KeyValue> = {};
  for (let i = 0, columns = reader.uv(); i < columns; i++) setField(primaryKey, names[i], readTagged(reader, bigints) as KeyValue);
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
    cells.push(op === DELETE ? { op: "DELETE", name, version } : { op: "PUT", name, version, value: readTagged(reader, bigints) });
  }
  const original: Record<string, Value> = {};
  while (reader.at < end) {
    const name = reader.str();
    reader.sv();
    setField(original, name, readTagged(reader, bigints));
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
  const { records: bytes, primaryKey, ...rest } = await client.admin<Records>("getStreamRecord", ARGUMENTS.getStreamRecord(request, "getStreamRecord"), request);
  const reader = new Reader(bytes);
  const records: StreamRecord[] = [];
  while (reader.at < bytes.length) records.push(readRecord(reader, primaryKey, client.bigints));
  return { records, ...rest };
}

/** What the engine answers: ids are numbers there. */
type EngineShard = Omit<StreamShard, "shardId" | "parentId" | "parentSiblingId"> & Record<"shardId", number> & Record<"parentId" | "parentSiblingId", number | null>;

/** The implementation of {@link Database.describeStream}. */
export async function describeStream(client: Client, request: DescribeStreamRequest): Promise<DescribeStreamResult> {
  const args = ARGUMENTS.describeStream(request, "describeStream");
  const page = await client.admin<{ stream: StreamDescription; shards: EngineShard[]; nextShardId: number | null }>("describeStream", args, request);
  const id = (number: number | null): string | null => (number === null ? null : String(number));
  const bound = (value: KeyValue | null): KeyValue | null => (typeof value === "number" && client.bigints ? BigInt(value) : value);
  const shards = page.shards.map((shard) => ({
    ...shard, shardId: String(shard.shardId), parentId: id(shard.parentId), parentSiblingId: id(shard.parentSiblingId),
    lowerBound: bound(shard.lowerBound), upperBound: bound(shard.upperBound),
  }));
  return { ...page.stream, status: "ACTIVE", shards, nextShardId: id(page.nextShardId) };
}

/** The place in a shard: an iterator, and how many records behind it have been taken. `null`: the shard was read to its end. */
type Place = readonly [iterator: string, taken: number] | null;

/** The shards of a stream, parents before children. */
async function shardsOf(client: Client, streamId: string, call: CallOptions): Promise<StreamShard[]> {
  const shards: StreamShard[] = [];
  for (let next: string | null | undefined; next !== null;) {
    const page: DescribeStreamResult = await describeStream(client, { streamId, inclusiveStartShardId: next, ...call });
    shards.push(...page.shards);
    next = page.nextShardId;
  }
  return shards;
}

const wrongFrom = (given: string): TabStoreError => invalid(`The argument 'from' is ${given}; it must be "oldest", "latest", a time in milliseconds, or the token of a change.`);

const expired = (message = "Records behind the token have expired."): TabStoreError =>
  new TabStoreError({ code: "OTSTrimmedDataAccess", status: 400, retryable: false, message, hint: "Read the table again, and go on from its latest changes." });

function readToken(token: string, stream: string): Map<string, Place> {
  let given: unknown;
  try {
    given = JSON.parse(token);
  } catch {
    // It is refused below.
  }
  const [id, shards] = Array.isArray(given) ? (given as unknown[]) : [];
  const isPlace = (place: unknown): boolean => place === null || (Array.isArray(place) && typeof place[0] === "string" && Number.isSafeInteger(place[1]) && (place[1] as number) >= 0);
  if (typeof id !== "string" || typeof shards !== "object" || shards === null || !Object.values(shards).every(isPlace)) {
    throw wrongFrom(shown(token));
  }
  if (id !== stream) throw expired("The stream of the token was disabled: its records are gone.");
  return new Map(Object.entries(shards as Record<string, Place>));
}

/** Reads the shards of a stream, each after its parents, and keeps their places. */
class Walk {
  /** The shards that can be read. */
  private open: string[] = [];

  constructor(private readonly client: Client, private readonly stream: string, private readonly call: CallOptions, private readonly places: Map<string, Place>) {}

  /** The token of a place in one shard, with those of the others. */
  token(shard: string, place: Place): string {
    return JSON.stringify([this.stream, Object.fromEntries(new Map(this.places).set(shard, place))]);
  }

  /**
   * Finds the shards that can be read: those whose parents were read to their ends. `start` makes the iterator of a new one.
   * `goesOn`: it has read all that came before, so it must not miss a shard.
   */
  async find(goesOn: boolean, start: (shard: StreamShard) => Promise<string>): Promise<void> {
    const shards = await shardsOf(this.client, this.stream, this.call);
    const kept = new Set(shards.map(({ shardId }) => shardId));
    // The place in a shard that is forgotten: the store tells whether something is missed.
    this.open = [...this.places].filter(([shard, place]) => place !== null && !kept.has(shard)).map(([shard]) => shard);
    for (const shard of shards) {
      const { shardId } = shard;
      const parents = [shard.parentId, shard.parentSiblingId].filter((parent) => parent !== null);
      if (this.places.get(shardId) === null || parents.some((parent) => kept.has(parent) && this.places.get(parent) !== null)) continue;
      if (!this.places.has(shardId)) {
        if (goesOn && parents.some((parent) => !this.places.has(parent))) throw expired();
        this.places.set(shardId, [await start(shard), 0]);
      }
      this.open.push(shardId);
    }
    const needed = new Set(shards.filter(({ shardId }) => !this.places.has(shardId)).flatMap(({ parentId, parentSiblingId }) => [parentId, parentSiblingId]));
    for (const [shard, place] of this.places) if (place === null && !kept.has(shard) && !needed.has(shard)) this.places.delete(shard);
  }

  /** Reads each open shard once. Returns whether there may be more at once. */
  async *read(): AsyncGenerator<Change, boolean, undefined> {
    let more = false;
    for (const shard of this.open) {
      const place = this.places.get(shard);
      if (place === null || place === undefined) continue;
      const [iterator, taken] = place;
      const page = await getStreamRecord(this.client, { shardIterator: iterator, ...this.call });
      const behind: Place = page.nextShardIterator === null ? null : [page.nextShardIterator, 0];
      for (let i = taken; i < page.records.length; i++) {
        const place: Place = i + 1 === page.records.length ? behind : [iterator, i + 1];
        const token = (): string => this.token(shard, place);
        this.places.set(shard, place);
        yield Object.defineProperty(page.records[i] as Change, "token", { get: token, enumerable: false });
      }
      this.places.set(shard, behind);
      more ||= page.mayMoreRecord || page.nextShardIterator === null || page.records.length > taken;
    }
    return more;
  }

  /** Waits until there may be more. */
  async wait(): Promise<void> {
    const shardIterators = this.open.map((shard) => this.places.get(shard)?.[0]).filter((iterator) => iterator !== undefined);
    await this.client.admin("awaitStreamRecord", ARGUMENTS.awaitStreamRecord({ shardIterators }, "awaitStreamRecord"), this.call);
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
  given?.addEventListener("abort", abort, { once: true });
  const changes = changesOf(client, request, control.signal);
  const end = (): void => given?.removeEventListener("abort", abort);
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
  const call: CallOptions = { signal };
  const [stream] = await client.admin<StreamDescription[]>("listStream", ARGUMENTS.listStream({ tableName }, "changes"), call);
  if (stream === undefined) {
    throw new TabStoreError({
      code: "OTSObjectNotExist", status: 404, retryable: false, message: `Table '${tableName}' has no stream.`,
      hint: "Enable it: updateTable({ tableName, stream: { enabled: true, expirationHours: 24 } }).",
    });
  }
  const { streamId } = stream;
  const isToken = typeof from === "string" && from !== "oldest" && from !== "latest";
  const places = isToken ? readToken(from, streamId) : new Map<string, Place>();
  const walk = new Walk(client, streamId, call, places);
  // Shards that begin later are read from their beginning, at which nothing may be missing.
  let begins = !isToken;
  const start = async ({ shardId }: StreamShard): Promise<string> => {
    const at = typeof from === "number" ? { timestamp: from } : !begins ? { beginning: true } : from === "latest" ? { latest: true } : {};
    return client.admin<string>("getShardIterator", ARGUMENTS.getShardIterator({ streamId, shardId, ...at }, "changes"), call);
  };
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
