/**
 * Live queries. The engine tells the keys that were written among the watched rows, and only those are read again. After a
 * hand-over, or when there was too much to tell, the whole range is read again and compared. Loaded on first use.
 */

import type { Client } from "./client.js";
import { batchGet } from "./batch-get.js";
import { checkArguments, count } from "./codec/check.js";
import { copyFilter } from "./codec/filter.js";
import { READ } from "./codec/request.js";
import { Reader } from "./codec/reader.js";
import { readTagged } from "./codec/tagged.js";
import { invalid } from "./errors.js";
import { NONE } from "./lazy.js";
import type { LiveRows, LiveSnapshot, WatchRequest } from "./live-types.js";
import type { Row } from "./row.js";
import { scan } from "./scan.js";
import type { RangeSource } from "./scan.js";
import { abortReason, signalOf } from "./signals.js";
import type { BatchGetItem, CallOptions, KeyValue, PrimaryKey, ReadOptions, ScanRequest } from "./types.js";

const WATCH = new Set(["tableName", "primaryKey", "direction", "start", "end", "limit", "signal", ...READ]);
/** The most rows of one BatchGetRow. */
const BATCH = 100;

/** A place in the order of changes. The engine understands it. */
interface Place {
  readonly record: number;
  readonly seqno: number;
}

/** What the engine answers to a watcher. */
interface Told {
  readonly place: Place;
  /** The names of the key's columns. */
  readonly primaryKey: readonly string[];
  /** The changed keys. `null`: any row may have changed. */
  readonly keys: Uint8Array | null;
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** As the store orders values of one type: texts and bytes by bytes. */
function compare(a: KeyValue, b: KeyValue): number {
  if (typeof a === "string" || a instanceof Uint8Array) {
    const [left, right] = [a, b].map((value) => (typeof value === "string" ? encoder.encode(value) : value as Uint8Array));
    for (let i = 0; i < left.length && i < right.length; i++) if (left[i] !== right[i]) return left[i] - right[i];
    return left.length - right.length;
  }
  return a < (b as number) ? -1 : a > (b as number) ? 1 : 0;
}

function compareKeys(a: PrimaryKey, b: PrimaryKey, columns: readonly string[]): number {
  for (const column of columns) {
    const order = compare(a[column] as KeyValue, b[column] as KeyValue);
    if (order !== 0) return order;
  }
  return 0;
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return a.length === b.length && a.every((byte, i) => byte === b[i]);
  return Object.is(a, b);
}

/** Whether two reads of one row gave the same. */
function sameRow(a: Row, b: Row): boolean {
  const names = a.columnNames;
  if (names.length !== b.columnNames.length) return false;
  const [left, right] = [a.columns, b.columns];
  return names.every((name, i) => {
    const [cells, others] = [left[name], right[name]];
    return b.columnNames[i] === name && cells.length === others.length && a.type(name) === b.type(name)
      && cells.every(({ value, version }, j) => version === others[j].version && sameValue(value, others[j].value));
  });
}

/** A copy of a key, or of an end of a range. */
const copyKey = <T>(key: T): T => (typeof key === "object" && key !== null ? { ...key } : key);

/** The rows that are watched, and how they are read. */
class Watched {
  private rows: readonly Row[] = [];
  private columns: readonly string[] = [];
  private readonly tableName: string;
  private readonly primaryKey: PrimaryKey | undefined;
  private readonly range: Pick<ScanRequest, "direction" | "start" | "end">;
  private readonly limit: number;
  private readonly read: ReadOptions;

  constructor(private readonly client: Client, private readonly source: RangeSource, request: WatchRequest) {
    const { tableName, primaryKey, direction, start, end, limit, signal: _, ...read } = checkArguments<WatchRequest>(request, WATCH, "watch");
    if (primaryKey !== undefined && [direction, start, end, limit].some((given) => given !== undefined)) {
      throw invalid("The argument 'primaryKey' is given beside a range; watch one row, or a range.");
    }
    if (limit !== undefined) count(limit, "limit", 1);
    this.tableName = tableName;
    this.primaryKey = copyKey(primaryKey);
    this.range = { direction, start: copyKey(start), end: copyKey(end) };
    this.limit = limit ?? Infinity;
    this.read = { ...read, filter: copyFilter(read.filter, "filter") as ReadOptions["filter"] };
  }

  /** Waits for the next writes among the rows; without a place it tells where to begin. */
  async ask(place: Place | undefined, call: CallOptions): Promise<Told> {
    const { tableName, primaryKey, range: { direction, start, end }, rows } = this;
    // What is written behind the last row changes nothing, if there may be no more.
    const last = rows.length < this.limit ? undefined : { ...rows[rows.length - 1].primaryKey };
    const told = await this.client.admin<Told>("awaitChange", { tableName, primaryKey, start, end, last, backward: direction === "BACKWARD", place }, call);
    this.columns = told.primaryKey;
    return told;
  }

  private get sign(): number {
    return this.range.direction === "BACKWARD" ? -1 : 1;
  }

  private async readRows(keys: readonly PrimaryKey[], call: CallOptions): Promise<(Row | null)[]> {
    const found: (Row | null)[] = [];
    for (let at = 0; at < keys.length; at += BATCH) {
      const asked: BatchGetItem = { tableName: this.tableName, primaryKeys: keys.slice(at, at + BATCH), ...this.read };
      const [results] = await batchGet(this.client, [asked], call);
      for (const { row, error } of results) {
        if (error !== undefined) throw error;
        found.push(row ?? null);
      }
    }
    return found;
  }

  /** Reads all. */
  async readAll(call: CallOptions): Promise<LiveRows> {
    const fresh: Row[] = [];
    if (this.primaryKey !== undefined) {
      const [row] = await this.readRows([this.primaryKey], call);
      if (row !== null) fresh.push(row);
    } else {
      const { limit } = this;
      const rows = scan(this.source, { tableName: this.tableName, ...this.range, ...this.read, limit: limit === Infinity ? undefined : limit, ...call });
      for await (const row of rows) fresh.push(row);
    }
    const changed: PrimaryKey[] = [];
    const rows: Row[] = [];
    let old = 0;
    for (const row of fresh) {
      let order = -1;
      for (; old < this.rows.length && (order = this.order(this.rows[old].primaryKey, row.primaryKey)) < 0; old++) changed.push(this.rows[old].primaryKey);
      const before = order === 0 ? this.rows[old++] : undefined;
      const stays = before !== undefined && sameRow(before, row);
      if (!stays) changed.push(row.primaryKey);
      rows.push(stays ? before : row);
    }
    for (; old < this.rows.length; old++) changed.push(this.rows[old].primaryKey);
    this.rows = rows;
    return { rows, changed };
  }

  private order(a: PrimaryKey, b: PrimaryKey): number {
    return this.sign * compareKeys(a, b, this.columns);
  }

  /** The keys in order, each once. */
  distinct(keys: readonly PrimaryKey[]): PrimaryKey[] {
    return [...keys].sort((a, b) => this.order(a, b)).filter((key, i, all) => i === 0 || this.order(all[i - 1], key) !== 0);
  }

  /** The place of a key among rows, or of the first one behind it. */
  private find(rows: readonly Row[], key: PrimaryKey): { at: number; is: boolean } {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.order(rows[middle].primaryKey, key) < 0) low = middle + 1;
      else high = middle;
    }
    return { at: low, is: low < rows.length && this.order(rows[low].primaryKey, key) === 0 };
  }

  /** Reads the rows with these keys again. */
  async readAgain(bytes: Uint8Array, call: CallOptions): Promise<LiveRows> {
    const reader = new Reader(bytes);
    const keys: PrimaryKey[] = [];
    while (reader.at < bytes.length) {
      const key: Record<string, KeyValue> = {};
      for (let i = 0, columns = reader.u8(); i < columns; i++) key[this.columns[i]] = readTagged(reader, this.client.bigints) as KeyValue;
      keys.push(key);
    }
    const isFull = this.rows.length >= this.limit;
    const last = this.rows.at(-1);
    const wanted = this.distinct(keys).filter((key) => !isFull || last === undefined || this.order(key, last.primaryKey) <= 0);
    const found = await this.readRows(wanted, call);
    let rows: Row[] | undefined;
    const changed: PrimaryKey[] = [];
    wanted.forEach((key, i) => {
      const row = found[i];
      const { at, is } = this.find(rows ?? this.rows, key);
      if (row === null ? !is : is && sameRow((rows ?? this.rows)[at], row)) return;
      rows ??= [...this.rows];
      rows.splice(at, is ? 1 : 0, ...(row === null ? [] : [row]));
      changed.push(key);
    });
    if (rows === undefined) return { rows: this.rows, changed };
    // The rows behind those that went are not known.
    if (isFull && rows.length < this.limit) return this.readAll(call);
    for (const { primaryKey } of rows.splice(this.limit)) {
      const came = changed.findIndex((key) => this.order(key, primaryKey) === 0);
      if (came < 0) changed.push(primaryKey);
      else changed.splice(came, 1);
    }
    this.rows = rows;
    return { rows, changed };
  }
}

/** The implementation of {@link LiveQuery}. */
export class Live {
  private readonly watched: Watched;
  private readonly signal: AbortSignal | undefined;
  private readonly listeners = new Set<() => void>();
  private snapshot = NONE;
  /** Ends the reading; there is one while somebody listens. */
  private running: AbortController | undefined;
  /** Whether the snapshot was read since somebody listens. */
  private isFresh = false;

  constructor(client: Client, source: RangeSource, request: WatchRequest) {
    this.signal = signalOf(request);
    this.watched = new Watched(client, source, request);
  }

  getSnapshot(): LiveSnapshot {
    return this.snapshot;
  }

  subscribe(listener: () => void): () => void {
    // Each subscription is one, also of the same function.
    const mine = (): void => listener();
    this.listeners.add(mine);
    if (this.running === undefined) void this.run(this.running = new AbortController());
    return () => {
      this.listeners.delete(mine);
      // Who ends a subscription may begin the next one at once.
      queueMicrotask(() => {
        if (this.listeners.size > 0) return;
        this.running?.abort();
        this.running = undefined;
        this.isFresh = false;
      });
    };
  }

  private tell(): void {
    for (const listener of this.listeners) {
      try {
        listener();
      } catch (error) {
        // As an event's listener: reported, and the others are called.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  private async run(running: AbortController): Promise<void> {
    const { signal, watched } = this;
    const abort = (): void => running.abort(signal?.reason);
    const call: CallOptions = { signal: running.signal };
    let error: unknown;
    try {
      if (signal?.aborted) throw abortReason(signal);
      signal?.addEventListener("abort", abort, { once: true });
      let { place } = await watched.ask(undefined, call);
      let keys: Uint8Array | null = null;
      for (;;) {
        const { rows, changed } = keys === null ? await watched.readAll(call) : await watched.readAgain(keys, call);
        if (running.signal.aborted) throw abortReason(running.signal);
        const isFirst = this.snapshot.rows === undefined;
        const isNews = isFirst || changed.length > 0 || this.snapshot.error !== undefined;
        if (isNews) this.snapshot = { rows, changed: isFirst ? [] : changed, error: undefined };
        if (isNews || !this.isFresh) {
          this.isFresh = true;
          this.tell();
        }
        do ({ place, keys } = await watched.ask(place, call));
        while (keys?.length === 0);
      }
    } catch (thrown) {
      error = thrown;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    // Nobody listens to one that was ended, but for its own signal.
    if (this.running !== running) return;
    this.running = undefined;
    this.isFresh = false;
    this.snapshot = { ...this.snapshot, changed: [], error };
    this.tell();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<LiveRows> {
    let seen = NONE;
    let over = false;
    let wake: (() => void) | undefined;
    /** The keys of all changes since the rows that were given last. */
    let changed: PrimaryKey[] = [];
    let last: Promise<unknown> = Promise.resolve();
    const end = this.subscribe(() => {
      if (seen.rows !== undefined) changed.push(...this.snapshot.changed);
      wake?.();
    });
    const finish = (): IteratorReturnResult<undefined> => {
      over = true;
      end();
      wake?.();
      return { done: true, value: undefined };
    };
    const step = async (): Promise<IteratorResult<LiveRows, undefined>> => {
      while (!over) {
        const { snapshot } = this;
        if (snapshot.error !== undefined && this.running === undefined) {
          finish();
          throw snapshot.error;
        }
        if (this.isFresh && snapshot !== seen && snapshot.rows !== undefined) {
          seen = snapshot;
          const value = { rows: snapshot.rows, changed: this.watched.distinct(changed) };
          changed = [];
          return { done: false, value };
        }
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return finish();
    };
    return {
      next() {
        const next = last.then(step, step);
        last = next;
        return next;
      },
      return: () => Promise.resolve(finish()),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}
