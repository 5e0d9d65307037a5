/**
 * Reads the changes of a table: walks the shards of its stream, each behind its parents [ST2]. It knows no engine, so it serves an
 * instance in this browser (`streams.ts`) and one of the service (`cloud/streams.ts`).
 */

import { abortReason, signalOf, whenAborted } from "../client/signals.js";
import { checkArguments } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import { invalid, TabStoreError } from "../types/errors.js";
import type { CallOptions } from "../types/rows.js";
import type {
  Change,
  ChangesRequest,
  DescribeStreamResult,
  GetShardIteratorRequest,
  GetStreamRecordResult,
  StreamDescription,
  StreamShard,
} from "../types/streams.js";

const CHANGES = new Set(["tableName", "from", "once", "signal"]);

/** Where to begin in a shard: see {@link GetShardIteratorRequest}. */
export type ShardStart = Pick<GetShardIteratorRequest, "timestamp" | "latest" | "beginning">;

/** What a reader asks an instance. */
export interface StreamSource {
  /** Why reading has ended, if so. */
  readonly closedBy: Error | undefined;
  /** The stream of a table. Rejects if it has none. */
  streamOf(tableName: string, call: CallOptions): Promise<StreamDescription>;
  /** A page of its shards, parents before children. */
  describe(streamId: string, from: string | undefined, call: CallOptions): Promise<DescribeStreamResult>;
  /** A place in a shard. */
  iteratorOf(streamId: string, shardId: string, start: ShardStart, call: CallOptions): Promise<string>;
  /** The records behind a place. */
  records(shardIterator: string, call: CallOptions): Promise<GetStreamRecordResult>;
  /** Waits until there may be records behind one of the places. */
  awaitRecords(shardIterators: readonly string[], call: CallOptions): Promise<void>;
}

/** The call that enables the stream of a table. */
const ENABLING = "updateTable({ tableName, stream: { enabled: true, expirationHours: 24 } })";

/** The error of a table without a stream. `enabling`: the call that gives it one. */
export const noStream = (tableName: string, enabling = ENABLING): TabStoreError =>
  new TabStoreError({
    code: "OTSObjectNotExist",
    status: 404,
    retryable: false,
    message: `Table '${tableName}' has no stream.`,
    hint: `Enable it: ${enabling}.`,
  });

/** The shards of a stream, parents before children. */
export async function shardsOf(source: Pick<StreamSource, "describe">, streamId: string, call: CallOptions): Promise<StreamShard[]> {
  const shards: StreamShard[] = [];
  for (let next: string | null | undefined; next !== null; ) {
    const page: DescribeStreamResult = await source.describe(streamId, next, call);
    shards.push(...page.shards);
    next = page.nextShardId;
  }
  return shards;
}

/** The place in a shard: an iterator, and how many records behind it have been taken. `null`: the shard was read to its end. */
type Place = readonly [iterator: string, taken: number] | null;

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

/** Reads the shards of a stream, each after its parents, and keeps their places. */
class Walk {
  /** The shards that can be read. */
  private open: string[] = [];

  /** Shards whose next record is behind {@link until}. */
  private readonly passed = new Set<string>();

  /** `until`: later records are not read. */
  constructor(
    private readonly source: StreamSource,
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
    const { open, fresh, forgotten } = findShards(await shardsOf(this.source, this.stream, this.call), this.places, goesOn);
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
    if (this.source.closedBy !== undefined) throw this.source.closedBy;
  }

  /** Reads each open shard once. Returns whether there may be more at once. */
  async *read(): AsyncGenerator<Change, boolean, undefined> {
    let more = false;
    for (const shard of this.open) {
      const place = this.places.get(shard);
      if (place === null || place === undefined || this.passed.has(shard)) continue;
      const [iterator, taken] = place;
      const page = await this.source.records(iterator, this.call);
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
    await this.source.awaitRecords(shardIterators, this.call);
  }
}

/** The reason of a reader that was broken off. */
const BROKEN = new Error("The reader has ended.");

/** The implementation of {@link Database.changes}. A generator alone would end only after its next change. */
export function readChanges(source: StreamSource, request: ChangesRequest): AsyncIterableIterator<Change> {
  const control = new AbortController();
  const given = signalOf(request);
  const abort = (): void => control.abort(given?.reason);
  if (given?.aborted) abort();
  const end = whenAborted(given, abort);
  const changes = changesOf(source, request, control.signal);
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

async function* changesOf(source: StreamSource, request: ChangesRequest, signal: AbortSignal): AsyncGenerator<Change, void, undefined> {
  const { tableName, from = "oldest", once } = checkArguments<ChangesRequest>(request, CHANGES, "changes");
  if (typeof from !== "string" && !(typeof from === "number" && Number.isSafeInteger(from))) throw wrongFrom(kindOf(from));
  if (once !== undefined && typeof once !== "boolean") throw invalid(`The argument 'once' is ${kindOf(once)}; it must be true or false.`);
  const call: CallOptions = { signal };
  const { streamId } = await source.streamOf(tableName, call);
  // Shards that begin later are read from their beginning, at which nothing may be missing.
  let begins = from === "oldest" || from === "latest";
  const places = typeof from === "string" && !begins ? readToken(from, streamId) : new Map<string, Place>();
  // Who reads once and changes the table meanwhile does not read these changes.
  const until = once ? (await source.describe(streamId, undefined, call)).lastSequence : Infinity;
  const walk = new Walk(source, streamId, call, places, until);
  const start = ({ shardId }: StreamShard): Promise<string> =>
    source.iteratorOf(streamId, shardId, !begins ? { beginning: true } : from === "latest" ? { latest: true } : {}, call);
  if (typeof from === "number") {
    for (const { shardId } of await shardsOf(source, streamId, call))
      places.set(shardId, [await source.iteratorOf(streamId, shardId, { timestamp: from }, call), 0]);
  }
  // Shards that have ended count as read: what comes is in their children.
  if (from === "latest") for (const { shardId, closed } of await shardsOf(source, streamId, call)) if (closed) places.set(shardId, null);
  for (;;) {
    if (signal.aborted) throw abortReason(signal);
    await walk.find(!begins, start);
    begins = false;
    if (yield* walk.read()) continue;
    if (once) return;
    await walk.wait();
  }
}
