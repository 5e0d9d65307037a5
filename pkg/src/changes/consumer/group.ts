/**
 * Consumer groups: consumers that share the work of a table's changes. Loaded on first use.
 *
 * A consumer reads the channels that it has, one batch after another. By a timer of its own it sends heartbeats, looks at the rows of
 * the group, and takes and gives back channels. Nobody decides for others: each change of a channel is a compare-and-set.
 */

import type { Client } from "../../client/client.js";
import { checkArguments, checkName } from "../../codec/check.js";
import { Channel, expiredPlace, type Source } from "./channel.js";
import { again, type ChannelRow, failure, type GroupRow, groups, GroupStore, hasCode, type Rows, type Seen } from "./store.js";
import { shareOf, Watchers } from "./share.js";
import type {
  ConsumerBatch,
  ConsumerChannel,
  ConsumerGroup,
  ConsumerGroupDescription,
  ConsumerGroupSummary,
  ConsumerRequest,
  ConsumerType,
  ListConsumerGroupsRequest,
} from "../../types/consumer.js";
import { abortReason, SIGNAL, signalOf, whenAborted } from "../../client/signals.js";
import { findShards, type ShardStart } from "../reader.js";
import { awaitRecords, getStreamRecord, isOfAccount, iteratorOf, shardsOf, streamOf } from "../streams.js";
import type { StreamShard } from "../../types/streams.js";
import type { CallOptions, KeyValue } from "../../types/rows.js";
import { type Asked, check, nameOf } from "./request.js";

const LIST = new Set(["tableName", "signal"]);
/** Heartbeats in the time after which a consumer counts as gone. */
const BEATS = 5;
/** The part of that time in which a consumer may trust that its channels are its own. */
const TRUST = 0.8;
/** While it has much to read, a channel that had nothing is read again after so many milliseconds. */
const AGAIN = 100;
const ended = { done: true, value: undefined } as const;

/** Time and locks, as the tab has them. */
export interface Surroundings {
  /** Milliseconds of a clock that is never set. */
  now(): number;
  /** Waits, or until the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** The locks of the origin, where there are some. */
  readonly locks: Pick<LockManager, "request" | "query"> | undefined;
}

/** Those of this tab. */
const here = (): Surroundings => ({
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        forget();
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      const forget = whenAborted(signal, end);
    }),
  locks: (globalThis.navigator as Navigator | undefined)?.locks,
});

/** The lock that a consumer holds while it runs. */
const lockOf = (consumer: string): string => `tabstore/consumer/${consumer}`;

const randomId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const noGroup = ({ tableName, group }: Asked, hint = "A group is made by its first consumer."): Error =>
  failure("OTSObjectNotExist", 404, `Table '${tableName}' has no consumer group '${group}'.`, hint);
/** The types that a group of a table may have, for people. */
const typesOf = (tableName: string): string =>
  isOfAccount(tableName) ? "'Stream' (the changes)" : "'BaseData' (all rows), 'Stream' (the changes) or 'BaseAndStream' (all rows, then the changes)";

/** The reason of a consumer that was broken off. */
const BROKEN = new Error("The consumer has ended.");

/** One consumer: see the top of the file. */
class Consumer implements AsyncIterableIterator<ConsumerBatch> {
  private readonly id = randomId();
  private readonly interval: number;
  private readonly watchers: Watchers;
  /** Ends what it waits for. */
  private readonly control = new AbortController();
  /** Its channels. The first one is read next. */
  private readonly mine = new Map<string, Channel>();
  private source: Source | undefined;
  private beginning: Promise<void> | undefined;
  private looking: Promise<void> | undefined;
  private leaving: Promise<void> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  /** Calls of `next` give nothing more. */
  private over = false;
  private failed: unknown;
  private beat = 0;
  /** When its last look at the group began, and its last one that succeeded. */
  private tried = -Infinity;
  private trusted = -Infinity;
  /** Whether all channels were read to their ends. */
  private complete = false;
  /** The shards of the stream when these had ended. */
  private shards: { readonly ended: string; readonly all: readonly StreamShard[] } | undefined;
  private listening: { readonly iterators: string; readonly control: AbortController } | undefined;
  private news = false;
  private wakeUp: (() => void) | undefined;
  private unlock: (() => void) | undefined;

  constructor(
    private readonly client: Client,
    private readonly db: Rows,
    private readonly asked: Asked,
    private readonly signal: AbortSignal | undefined,
    private readonly around: Surroundings,
  ) {
    this.interval = asked.timeout / BEATS;
    this.watchers = new Watchers(this.interval);
  }

  next(): Promise<IteratorResult<ConsumerBatch, undefined>> {
    const next = this.last.then(() => this.step());
    this.last = next.catch(() => {});
    return next;
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.over = true;
    this.control.abort(BROKEN);
    await this.leave();
    return ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private forgetSignal = (): void => {};
  private readonly abort = (): void => {
    this.control.abort(abortReason(this.signal!));
    void this.leave();
  };

  private async step(): Promise<IteratorResult<ConsumerBatch, undefined>> {
    if (this.over) return ended;
    try {
      const batch = await this.nextBatch();
      if (batch !== undefined) return { done: false, value: batch };
      await this.return();
      return ended;
    } catch (error) {
      await this.return();
      if (error === BROKEN) return ended;
      throw error;
    }
  }

  /** The next batch; `undefined`: there will be none. */
  private async nextBatch(): Promise<ConsumerBatch | undefined> {
    await (this.beginning ??= this.begin());
    const { signal } = this.control;
    for (;;) {
      if (this.failed !== undefined) throw this.failed;
      if (signal.aborted) throw signal.reason;
      this.news = false;
      if (this.around.now() - this.tried >= this.interval || !this.isTrusted) await this.lookOrFail();
      const now = this.around.now();
      const open = [...this.mine.values()].filter(({ ended, closing }) => !ended && closing === undefined);
      // While one has more and more, the others have their turns.
      const isBusy = open.some(({ idle }) => idle === undefined);
      const channel = open.find(({ idle }) => idle === undefined || (isBusy && now - idle >= AGAIN));
      if (channel === undefined) {
        if (this.complete) return undefined;
        await this.wait();
        continue;
      }
      const answer = channel.read(signal);
      await answer.catch(() => {});
      // It may have waited for long. Then the channel may be another one's, and the answer, even an error, tells what was.
      if (!this.isTrusted) await this.lookOrFail();
      if (signal.aborted || channel.lost || channel.closing !== undefined) continue;
      const reading = await answer;
      this.mine.delete(channel.id);
      this.mine.set(channel.id, channel);
      const number = channel.take(reading, this.around.now());
      // Others may come in its place.
      if (channel.ended) this.tried = -Infinity;
      if (reading.records.length === 0) {
        await this.settle(channel);
        continue;
      }
      const { records, phase, behind } = reading;
      const checkpoint = async (): Promise<void> => {
        try {
          await channel.checkpoint(number, behind);
        } finally {
          await this.settle(channel);
        }
      };
      return { records, channelId: channel.id, phase, checkpoint };
    }
  }

  /** Whether no other consumer can think yet that this one has gone. */
  private get isTrusted(): boolean {
    return this.around.now() - this.trusted < TRUST * this.asked.timeout;
  }

  private async begin(): Promise<void> {
    const { client, db, asked, id, signal } = this;
    if (signal?.aborted) throw abortReason(signal);
    this.forgetSignal = whenAborted(signal, this.abort);
    const store = new GroupStore(db, asked.tableName, asked.group);
    const { primaryKey } = await again(() => db.describeTable(asked.tableName));
    let seen = await store.read();
    if (seen === undefined) {
      const { type } = asked;
      if (type === undefined) throw noGroup(asked, `To make it, give its type: ${typesOf(asked.tableName)}.`);
      const call: CallOptions = { signal: this.control.signal };
      const { row, channels } = await again(() => makeGroup(client, db, asked, type, call));
      await store.prepare();
      await store.create(row, channels);
      seen = await store.read();
    }
    if (seen === undefined) throw this.gone();
    const { group } = seen;
    if (asked.type !== undefined && asked.type !== group.type) {
      throw failure(
        "OTSTunnelExist",
        409,
        `The consumer group '${group.group}' of table '${group.tableName}' has the type '${group.type}', not '${asked.type}'.`,
        "A group keeps its type: use another name, or delete the group.",
      );
    }
    this.source = { client, db, store, group, keys: primaryKey.map(({ name }) => name), self: id, limit: asked.limit };
    await this.lock();
    await this.lookOrFail();
    void this.sendBeats();
  }

  /** Takes a lock of the browser, which others notice at once when this tab ends. */
  private async lock(): Promise<void> {
    const { locks } = this.around;
    if (locks === undefined) return;
    await new Promise<void>((taken) => {
      locks
        .request(
          lockOf(this.id),
          () =>
            new Promise<void>((end) => {
              this.unlock = end;
              taken();
            }),
        )
        .catch(() => taken());
    });
  }

  private async sendBeats(): Promise<void> {
    for (;;) {
      await this.around.sleep(this.interval, this.control.signal);
      if (this.control.signal.aborted) return;
      try {
        await this.look();
      } catch (error) {
        // What else fails is tried again, until the consumer is not trusted any more.
        if (!hasCode(error, "Closed")) continue;
        this.failed ??= error;
        // Its lock is free then, so that others need not wait.
        return this.leave();
      }
    }
  }

  /** Looks until it is trusted. A look that was under way while the tab was frozen tells what was. */
  private async lookOrFail(): Promise<void> {
    do {
      if (this.control.signal.aborted) return;
      try {
        await this.look();
      } catch (error) {
        if (this.failed !== undefined || !this.isTrusted) throw error;
      }
    } while (!this.isTrusted);
  }

  /** Sends a heartbeat, looks at the group, and takes and gives back channels. */
  private look(): Promise<void> {
    this.looking ??= this.lookOnce().finally(() => {
      this.looking = undefined;
      this.wake();
    });
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    const { id, source, mine } = this;
    const { store, group } = source!;
    const now = this.around.now();
    this.tried = now;
    this.beat += 1;
    await store.beat(group.id, id, { beat: this.beat, timeout: this.asked.timeout, hasLock: this.unlock !== undefined });
    const seen = await store.read();
    if (seen?.group.id !== group.id) {
      await store.leave(group.id, id);
      throw (this.failed = this.gone());
    }
    this.trusted = now;
    for (const [name, channel] of mine) {
      const row = seen.channels.get(name);
      if (row?.owner === id && row.version === channel.version) continue;
      channel.lost = true;
      mine.delete(name);
    }
    // A channel that it has taken without knowing: the answer was lost.
    for (const [name, row] of seen.channels) if (row.owner === id && !mine.has(name)) seen.channels.set(name, { ...row, owner: "" });
    const gone = await this.findGone(seen, now);
    const open = await this.findOpen(seen);
    this.complete = group.streamId === "" && open.every((name) => mine.get(name)?.ended === true);
    const { target, free } = shareOf(seen, open, gone, id);
    const kept = [...mine.values()].filter(({ closing }) => closing === undefined);
    // First those that nobody is at work on.
    kept.sort((a, b) => Number(b.settled) - Number(a.settled));
    for (const channel of kept.splice(0, Math.max(0, kept.length - target))) await channel.close(now).catch(() => {});
    for (const channel of [...mine.values()]) await this.settle(channel);
    for (const name of free.slice(0, Math.max(0, target - kept.length))) await this.claim(seen.channels.get(name)!);
  }

  private gone(): Error {
    const { tableName, group } = this.asked;
    return failure(
      "OTSResourceGone",
      410,
      `The consumer group '${group}' of table '${tableName}' was deleted.`,
      "A new loop makes it again, if its type is given.",
    );
  }

  /** The consumers that have gone. Their rows are removed, so that others need not wait for their own judgement. */
  private async findGone({ consumers, group }: Seen, now: number): Promise<Set<string>> {
    const gone = this.watchers.look(consumers, this.id, now);
    const { locks } = this.around;
    const others = [...consumers].filter(([id, { hasLock }]) => id !== this.id && hasLock);
    if (locks !== undefined && others.length > 0) {
      const held = new Set((await locks.query()).held?.map(({ name }) => name));
      for (const [id] of others) if (!held.has(lockOf(id))) gone.add(id);
    }
    for (const id of gone) await this.source!.store.leave(group.id, id, consumers.get(id)!.beat);
    return gone;
  }

  /** The channels that can be read. Adds those of new shards, and removes those that nobody needs any more. */
  private async findOpen({ group, channels }: Seen): Promise<string[]> {
    const isEnded = ({ state }: ChannelRow): boolean => state === "TERMINATED";
    if (group.streamId === "") return [...channels.values()].filter((row) => !isEnded(row)).map(({ id }) => id);
    const endedOnes = [...channels.values()]
      .filter(isEnded)
      .map(({ id }) => id)
      .join(" ");
    const call: CallOptions = { signal: this.control.signal };
    try {
      // New shards matter only when others have ended.
      if (this.shards?.ended !== endedOnes) this.shards = { ended: endedOnes, all: await again(() => shardsOf(this.client, group.streamId, call)) };
      const places = new Map([...channels].map(([id, row]) => [id, isEnded(row) ? null : row]));
      const { open, fresh, forgotten } = findShards(this.shards.all, places, true);
      if (fresh.length === 0 && forgotten.length === 0) return [...open];
      const added = await Promise.all(
        fresh.map(async ({ shardId }) =>
          newChannel(shardId, { iterator: await again(() => iteratorOf(this.client, group.streamId, shardId, { beginning: true }, call)) }),
        ),
      );
      if (
        !(await this.source!.store.change(
          group,
          added,
          forgotten.map((id) => channels.get(id)!),
        ))
      ) {
        // Another consumer has done so. Look again soon.
        this.tried = -Infinity;
        return [...open];
      }
      for (const row of added) channels.set(row.id, row);
      return [...open, ...added.map(({ id }) => id)];
    } catch (error) {
      if (!hasCode(error, "OTSTrimmedDataAccess") && !hasCode(error, "OTSObjectNotExist")) throw error;
      throw (this.failed = expiredPlace(group, error));
    }
  }

  private async claim(row: ChannelRow): Promise<void> {
    if (this.control.signal.aborted) return;
    const claimed: ChannelRow = { ...row, seq: row.seq + 1, state: "OPEN", owner: this.id, version: row.version + 1 };
    if (await this.source!.store.store(this.source!.group.id, claimed)) this.mine.set(row.id, new Channel(this.source!, claimed));
  }

  /** Ends what can be ended: a channel at its end, one that is given back, one that was lost. */
  private async settle(channel: Channel): Promise<void> {
    try {
      if (await channel.finish()) channel.lost = true;
      else if (channel.closing !== undefined && (channel.settled || this.around.now() - channel.closing >= this.asked.timeout)) await channel.release();
    } catch {
      // It is tried again, or was lost.
    }
    if (!channel.lost || this.mine.get(channel.id) !== channel) return;
    this.mine.delete(channel.id);
    // Others come in its place.
    this.tried = -Infinity;
    this.wake();
  }

  private wake(): void {
    this.news = true;
    this.wakeUp?.();
  }

  /** Waits for records, for a look at the group, or for the end. */
  private async wait(): Promise<void> {
    this.listen();
    if (!this.news) await new Promise<void>((resolve) => (this.wakeUp = resolve));
  }

  private listen(): void {
    const open = [...this.mine.values()].flatMap(({ idle, closing, place: { iterator } }) =>
      idle !== undefined && closing === undefined && iterator !== null ? iterator : [],
    );
    const iterators = open.join(" ");
    if (this.listening?.iterators === iterators) return;
    this.listening?.control.abort();
    this.listening = undefined;
    if (open.length === 0) return;
    const listening = (this.listening = { iterators, control: new AbortController() });
    const heard = (): void => {
      if (this.listening !== listening) return;
      this.listening = undefined;
      for (const channel of this.mine.values()) channel.idle = undefined;
      this.wake();
    };
    awaitRecords(this.client, open, { signal: listening.control.signal }).then(heard, (error: unknown) => {
      // Who reads is told of places that have expired, and reads from the next leader.
      const isKnown = ["OTSTrimmedDataAccess", "OTSObjectNotExist", "LeaderChanged"].some((code) => hasCode(error, code));
      // Nor is its own end a failure.
      if (!isKnown && !listening.control.signal.aborted) this.failed ??= error;
      heard();
    });
  }

  /** Gives all channels back. */
  private leave(): Promise<void> {
    this.leaving ??= (async () => {
      this.forgetSignal();
      if (!this.control.signal.aborted) this.control.abort(BROKEN);
      this.wake();
      this.listening?.control.abort();
      await this.beginning?.catch(() => {});
      await this.looking?.catch(() => {});
      // A write that fails leaves the rest to the heartbeat that does not come.
      await Promise.all([...this.mine.values()].map((channel) => channel.release().catch(() => {})));
      this.mine.clear();
      if (this.source !== undefined) await this.source.store.leave(this.source.group.id, this.id).catch(() => {});
      this.unlock?.();
    })();
    return this.leaving;
  }
}

/** The row of a channel that nobody has. */
const newChannel = (id: string, row: Partial<ChannelRow>): ChannelRow => ({
  id,
  seq: 0,
  state: "CLOSE",
  owner: "",
  version: 0,
  base: undefined,
  before: null,
  iterator: null,
  time: Date.now(),
  ...row,
});

/** The rows of a new group. */
async function makeGroup(
  client: Client,
  db: Rows,
  { tableName, group, from }: Asked,
  type: ConsumerType,
  call: CallOptions,
): Promise<{ row: GroupRow; channels: ChannelRow[] }> {
  const row = { tableName, group, type, creationTime: Date.now(), id: randomId(), seq: 0 };
  const baseFrom = (lower: KeyValue | null): KeyValue[] => (lower === null ? [] : [lower]);
  if (type === "BaseData") {
    const { partitions } = await db.describeTable({ tableName, ...call });
    const channels = partitions.map(({ lowerBound, upperBound }, i) => newChannel(String(i + 1), { base: baseFrom(lowerBound), before: upperBound }));
    return { row: { ...row, streamId: "" }, channels };
  }
  const { streamId } = await streamOf(client, tableName, "consumer", call);
  const isLatest = type === "BaseAndStream" || from === "LATEST";
  const at: ShardStart = isLatest ? { latest: true } : from === "EARLIEST" ? {} : { timestamp: from as number };
  // The places in the stream come before any read of rows, so that no change is missed between the two.
  const channels = await Promise.all(
    (await shardsOf(client, streamId, call)).map(async ({ shardId, closed, lowerBound, upperBound }) => {
      // What comes is in the children of those that have ended.
      if (isLatest && closed) return newChannel(shardId, { state: "TERMINATED" });
      const base = type === "BaseAndStream" ? { base: baseFrom(lowerBound), before: upperBound } : {};
      return newChannel(shardId, { ...base, iterator: await iteratorOf(client, streamId, shardId, at, call) });
    }),
  );
  return { row: { ...row, streamId }, channels };
}

/** The implementation of {@link ConsumerGroup}. */
export class Group implements ConsumerGroup {
  constructor(
    private readonly client: Client,
    private readonly db: Rows,
    private readonly request: ConsumerRequest,
    private readonly around: Surroundings = here(),
  ) {}

  [Symbol.asyncIterator](): AsyncIterableIterator<ConsumerBatch> {
    return new Consumer(this.client, this.db, check(this.request), signalOf(this.request), this.around);
  }

  async describe(options: CallOptions = {}): Promise<ConsumerGroupDescription> {
    const asked = check(this.request);
    checkArguments(options, SIGNAL, "describe");
    const call: CallOptions = { signal: signalOf(options) };
    const seen = await new GroupStore(this.db, asked.tableName, asked.group).read(call);
    if (seen === undefined) throw noGroup(asked);
    const { tableName, group, type, creationTime } = seen.group;
    const channels = await Promise.all(
      [...seen.channels.values()].map(async ({ id, state, base, owner, iterator, time }): Promise<ConsumerChannel> => {
        let waitingSince: number | null = null;
        let expired = false;
        if (iterator !== null && state !== "TERMINATED") {
          try {
            const {
              records: [first],
            } = await getStreamRecord(this.client, { shardIterator: iterator, limit: 1, ...call });
            waitingSince = first?.timestamp ?? null;
          } catch (error) {
            if (!hasCode(error, "OTSTrimmedDataAccess") && !hasCode(error, "OTSObjectNotExist")) throw error;
            expired = true;
          }
        }
        const consumer = state === "TERMINATED" || owner === "" ? null : owner;
        return {
          channelId: id,
          state,
          phase: base === undefined && type !== "BaseData" ? "Stream" : "BaseData",
          consumer,
          checkpointTime: time,
          waitingSince,
          expired,
        };
      }),
    );
    return { tableName, group, type, creationTime, consumers: [...seen.consumers.keys()], channels };
  }

  async delete(options: CallOptions = {}): Promise<void> {
    const asked = check(this.request);
    checkArguments(options, SIGNAL, "delete");
    const store = new GroupStore(this.db, asked.tableName, asked.group);
    const call: CallOptions = { signal: signalOf(options) };
    const seen = await store.read(call);
    if (seen === undefined) throw noGroup(asked);
    await store.drop(seen.group.id, call);
  }
}

/** The implementation of {@link Database.listConsumerGroups}. */
export async function listGroups(db: Rows, request: ListConsumerGroupsRequest = {}): Promise<ConsumerGroupSummary[]> {
  const { tableName } = checkArguments(request, LIST, "listConsumerGroups");
  if (tableName !== undefined) checkName(tableName, "tableName");
  return groups(db, tableName === undefined ? undefined : nameOf(tableName), { signal: signalOf(request) });
}
