/**
 * Live queries. The engine tells the keys that were written among the watched rows, and only those are read again. After a
 * hand-over, or when there was too much to tell, the whole range is read again and compared. Loaded on first use.
 */

import type { Client } from "../client/client.js";
import { checkArguments, count } from "../codec/check.js";
import type { CellRow } from "../codec/page.js";
import { copyFilter } from "../codec/filter.js";
import type { FieldWriter } from "../codec/frame.js";
import { isBytes } from "../codec/bytes.js";
import { readNamedKey } from "../codec/parts.js";
import { Reader } from "../codec/reader.js";
import { READ } from "../codec/request.js";
import { type KeyUse, writeKey } from "../codec/value.js";
import { invalid } from "../types/errors.js";
import { type ChangeSource, engineChanges, type Place, type Told } from "./change-source.js";
import { NONE } from "./lazy.js";
import type { LiveQuery, LiveRows, WatchRequest } from "../types/live.js";
import type { Row } from "../types/row.js";
import { copyKey, type RangeSource, scan } from "../client/scan.js";
import { abortReason, signalOf, whenAborted } from "../client/signals.js";
import type { BatchGetItem, CallOptions, KeyValue, PrimaryKey, RangeKey, ReadOptions, ScanRequest } from "../types/rows.js";

const WATCH = new Set(["tableName", "primaryKey", "direction", "start", "end", "limit", "signal", ...READ]);
/** The most rows of one BatchGetRow. */
const BATCH = 100;
/** How often rows are read once more because others have changed meanwhile. */
const TRIES = 4;
/** The most changed keys that are looked up one by one. */
const KEYS = 1000;

const isInteger = (value: unknown): boolean => typeof value === "number" || typeof value === "bigint";

const encoder = /* @__PURE__ */ new TextEncoder();

/** As the store orders values of one type: texts and bytes by bytes. A table that was made again may have others. */
function compare(a: KeyValue | undefined, b: KeyValue | undefined): number {
  if (a === b) return 0;
  if (typeof a !== typeof b && !(isInteger(a) && isInteger(b))) return typeof a < typeof b ? -1 : 1;
  if (typeof a === "string" || a instanceof Uint8Array) {
    const [left, right] = [a, b].map((value) => (typeof value === "string" ? encoder.encode(value) : (value as Uint8Array)));
    for (let i = 0; i < left.length && i < right.length; i++) if (left[i] !== right[i]) return left[i] - right[i];
    return left.length - right.length;
  }
  return a! < (b as number) ? -1 : 1;
}

/** The columns of a key that is an argument, if it is right. They are copied. */
export function copyOfKey<K extends RangeKey>(fields: FieldWriter, key: K | undefined, argument: string, use: KeyUse): K | undefined {
  if (key === undefined) return undefined;
  writeKey(fields, key, argument, use);
  // Bytes may be of another frame of the page.
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [name, isBytes(value) ? Uint8Array.from(value) : value])) as K;
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return a.length === b.length && a.every((byte, i) => byte === b[i]);
  return Object.is(a, b);
}

/** The name, type, version and value of each cell of a row, one behind the other: in one pass, however many columns there are. */
function partsOf(row: Row): unknown[] {
  const [page, at, textAt] = (row as CellRow).place;
  const parts: unknown[] = [];
  page.eachCell(at, textAt, (name, type, version, value) => {
    parts.push(name, type, version, value);
    return false;
  });
  return parts;
}

/** Whether two reads of one row gave the same. */
function sameRow(a: Row, b: Row): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  return left.length === right.length && left.every((part, i) => sameValue(part, right[i]));
}

/** The rows that are watched, and how they are read. */
class Watched implements LiveSource<Row> {
  private readonly tableName: string;
  private readonly primaryKey: PrimaryKey | undefined;
  private readonly range: Pick<ScanRequest, "direction" | "start" | "end">;
  private readonly limit: number;
  private readonly read: ReadOptions;
  /** The names of the key columns in schema order, once a row has told them. */
  private names: readonly string[] | undefined;

  constructor(
    private readonly store: ChangeSource,
    private readonly source: RangeSource,
    request: WatchRequest,
  ) {
    const { tableName, primaryKey, direction, start, end, limit, signal: _, ...read } = checkArguments<WatchRequest>(request, WATCH, "watch");
    if (primaryKey !== undefined && [direction, start, end, limit].some((given) => given !== undefined)) {
      throw invalid("The argument 'primaryKey' is given beside a range; watch one row, or a range.");
    }
    if (limit !== undefined) count(limit, "limit", 1);
    this.tableName = tableName;
    this.primaryKey = copyOfKey(store.fields(), primaryKey, "primaryKey", "read");
    this.range = { direction, start: copyOfKey(store.fields(), start, "start", "range"), end: copyOfKey(store.fields(), end, "end", "range") };
    this.limit = limit ?? Infinity;
    this.read = { ...read, filter: copyFilter(read.filter, "filter") as ReadOptions["filter"] };
  }

  /** The last row, if rows behind it do not count. */
  private last(rows: readonly Row[]): PrimaryKey | undefined {
    return rows.length < this.limit ? undefined : rows[rows.length - 1].primaryKey;
  }

  /** Tells which writes may have changed these rows, or `waits` for the next ones; without a place it tells where to begin. */
  ask(place: Place | undefined, rows: readonly Row[], call: CallOptions, waits = true): Promise<Told> {
    const {
      tableName,
      primaryKey,
      range: { direction, start, end },
    } = this;
    return this.store.awaitChange(
      { tableName, primaryKey, start, end, last: copyKey(this.last(rows)), backward: direction === "BACKWARD", place, waits },
      call,
    );
  }

  private async readRows(keys: readonly PrimaryKey[], call: CallOptions): Promise<(Row | null)[]> {
    const found: (Row | null)[] = [];
    for (let at = 0; at < keys.length; at += BATCH) {
      const asked: BatchGetItem = { tableName: this.tableName, primaryKeys: keys.slice(at, at + BATCH), ...this.read };
      const [results] = await this.store.batchGetRow([asked], call);
      for (const { row, error } of results) {
        if (error !== undefined) throw error;
        found.push(row ?? null);
      }
    }
    return found;
  }

  /** Reads all, and compares it with the rows before. */
  async readAll(old: readonly Row[], call: CallOptions): Promise<LiveRows> {
    const fresh: Row[] = [];
    if (this.primaryKey !== undefined) {
      const [row] = await this.readRows([this.primaryKey], call);
      if (row !== null) fresh.push(row);
    } else {
      const { limit } = this;
      const rows = scan(this.source, { tableName: this.tableName, ...this.range, ...this.read, limit: limit === Infinity ? undefined : limit, ...call });
      for await (const row of rows) fresh.push(row);
    }
    this.names = fresh.length > 0 ? this.store.keyNames(fresh[0]) : this.names;
    // The pages of the first rows hold little else. Later each page may have one new row.
    const isFirst = old.length === 0;
    const changed: PrimaryKey[] = [];
    const rows: Row[] = [];
    let at = 0;
    for (const row of fresh) {
      let order = -1;
      for (; at < old.length && (order = this.order(old[at].primaryKey, row.primaryKey)) < 0; at++) changed.push(old[at].primaryKey);
      const before = order === 0 ? old[at++] : undefined;
      const stays = before !== undefined && sameRow(before, row);
      if (!stays) changed.push(row.primaryKey);
      rows.push(stays ? before : isFirst ? row : this.store.ownRow(row));
    }
    for (; at < old.length; at++) changed.push(old[at].primaryKey);
    return { rows, changed };
  }

  private order(a: PrimaryKey, b: PrimaryKey): number {
    for (const column of this.names ?? Object.keys(a)) {
      const order = compare(a[column] as KeyValue, b[column] as KeyValue);
      if (order !== 0) return this.range.direction === "BACKWARD" ? -order : order;
    }
    return 0;
  }

  /** Which of the keys are those of rows that came, changed or went: in order, each once. Of many keys all such are told. */
  changes(before: readonly Row[], after: readonly Row[], keys: readonly PrimaryKey[]): PrimaryKey[] {
    if (keys.length > KEYS) {
      const [old, fresh] = [new Set(before), new Set(after)];
      return this.distinct([...before.filter((row) => !fresh.has(row)), ...after.filter((row) => !old.has(row))].map(({ primaryKey }) => primaryKey));
    }
    return this.distinct(keys).filter((key) => this.row(before, key) !== this.row(after, key));
  }

  private row(rows: readonly Row[], key: PrimaryKey): Row | undefined {
    const { at, is } = this.find(rows, key);
    return is ? rows[at] : undefined;
  }

  /** The keys in order, each once. */
  private distinct(keys: readonly PrimaryKey[]): PrimaryKey[] {
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

  private keys(bytes: Uint8Array): PrimaryKey[] {
    const reader = new Reader(bytes);
    const keys: PrimaryKey[] = [];
    while (reader.at < bytes.length) keys.push(readNamedKey(reader, this.store.context));
    return keys;
  }

  /** Reads the rows with these keys again, and puts them among the rows before. `place` is where the keys were told. */
  async readAgain(old: readonly Row[], bytes: Uint8Array, place: Place, call: CallOptions): Promise<LiveRows> {
    const last = this.last(old);
    let wanted = this.distinct(this.keys(bytes)).filter((key) => last === undefined || this.order(key, last) <= 0);
    let found = await this.readRows(wanted, call);
    // A later commit may have changed one of them and others too. They come together: all of its rows must be read, at one time.
    for (let tries = 0; tries < TRIES && this.primaryKey === undefined; tries++) {
      const { keys } = await this.ask(place, old, call, false);
      if (keys === null) return this.readAll(old, call);
      const all = this.distinct([...wanted, ...this.keys(keys)]);
      if (keys.length === 0 || (all.length === wanted.length && all.length <= BATCH)) break;
      wanted = all;
      found = await this.readRows(wanted, call);
    }
    const some = found.find((row) => row !== null);
    if (some) this.names = this.store.keyNames(some);
    const rows = [...old];
    wanted.forEach((key, i) => {
      const row = found[i];
      const { at, is } = this.find(rows, key);
      if (row !== null && !(is && sameRow(rows[at], row))) rows.splice(at, is ? 1 : 0, this.store.ownRow(row));
      else if (row === null && is) rows.splice(at, 1);
    });
    // The rows behind those that went are not known.
    if (last !== undefined && rows.length < this.limit) return this.readAll(old, call);
    wanted.push(...rows.splice(this.limit).map(({ primaryKey }) => primaryKey));
    return { rows, changed: this.changes(old, rows, wanted) };
  }
}

/** What a live query shows of a source. */
export interface Shown<R> {
  readonly rows: readonly R[] | undefined;
  readonly changed: readonly PrimaryKey[];
  readonly error: unknown;
}

/** The rows at one time, and what has changed. */
interface Step<R> extends Omit<Shown<R>, "error"> {
  readonly rows: readonly R[];
}

/** What is shown live: rows, or one number in their place. */
export interface LiveSource<R> {
  /** Tells which writes may have changed these rows, or `waits` for the next ones; without a place it tells where to begin. */
  ask(place: Place | undefined, rows: readonly R[], call: CallOptions): Promise<Told>;
  /** Reads all, and compares it with the rows before. */
  readAll(old: readonly R[], call: CallOptions): Promise<Step<R>>;
  /** Reads what these keys name, and puts it among the rows before. `place` is where the keys were told. */
  readAgain(old: readonly R[], keys: Uint8Array, place: Place, call: CallOptions): Promise<Step<R>>;
  /** Which of the keys are those of rows that came, changed or went. */
  changes(before: readonly R[], after: readonly R[], keys: readonly PrimaryKey[]): PrimaryKey[];
}

/** Before anything is read. */
const NOTHING = NONE as Shown<never>;

/** The implementation of {@link LiveQuery}. */
export class Live<R = Row> {
  private readonly listeners = new Set<() => void>();
  private snapshot: Shown<R> = NOTHING;
  /** Ends the reading; there is one while somebody listens. */
  private running: AbortController | undefined;
  /** Whether the snapshot was read since somebody listens. */
  private isFresh = false;

  constructor(
    private readonly watched: LiveSource<R>,
    private readonly signal: AbortSignal | undefined,
  ) {}

  getSnapshot(): Shown<R> {
    return this.snapshot;
  }

  subscribe(listener: () => void): () => void {
    // Each subscription is one, also of the same function.
    const mine = (): void => listener();
    this.listeners.add(mine);
    if (this.running === undefined) void this.run((this.running = new AbortController()));
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
    // A listener may end subscriptions and begin others. Those have the snapshot.
    for (const listener of [...this.listeners]) {
      if (!this.listeners.has(listener)) continue;
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
    let forget = (): void => {};
    const call: CallOptions = { signal: running.signal };
    let error: unknown;
    try {
      if (signal?.aborted) throw abortReason(signal);
      forget = whenAborted(signal, () => running.abort(signal?.reason));
      let { place } = await watched.ask(undefined, [], call);
      let keys: Uint8Array | null = null;
      for (;;) {
        const { rows: old = [] } = this.snapshot;
        const { rows, changed } = keys === null ? await watched.readAll(old, call) : await watched.readAgain(old, keys, place, call);
        if (running.signal.aborted) throw abortReason(running.signal);
        const isFirst = this.snapshot.rows === undefined;
        const isNews = isFirst || changed.length > 0 || this.snapshot.error !== undefined;
        if (isNews) this.snapshot = { rows, changed: isFirst ? [] : changed, error: undefined };
        if (isNews || !this.isFresh) {
          this.isFresh = true;
          this.tell();
        }
        do ({ place, keys } = await watched.ask(place, this.snapshot.rows ?? [], call));
        while (keys?.length === 0);
      }
    } catch (thrown) {
      error = thrown;
    } finally {
      forget();
    }
    // Nobody listens to one that was ended, but for its own signal.
    if (this.running !== running) return;
    this.running = undefined;
    this.isFresh = false;
    this.snapshot = { ...this.snapshot, changed: [], error };
    this.tell();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Step<R>> {
    let seen: Shown<R> = NOTHING;
    let over = false;
    let wake: (() => void) | undefined;
    /** The keys of the changes since the rows that were given last. Of very many only some. */
    let changed: PrimaryKey[] = [];
    let last: Promise<unknown> = Promise.resolve();
    const end = this.subscribe(() => {
      if (seen.rows !== undefined && changed.length <= KEYS) changed = changed.concat(this.snapshot.changed);
      wake?.();
    });
    const finish = (): IteratorReturnResult<undefined> => {
      over = true;
      end();
      wake?.();
      return { done: true, value: undefined };
    };
    const step = async (): Promise<IteratorResult<Step<R>, undefined>> => {
      while (!over) {
        const { snapshot } = this;
        if (snapshot.error !== undefined && this.running === undefined) {
          finish();
          throw snapshot.error;
        }
        if (this.isFresh && snapshot !== seen && snapshot.rows !== undefined) {
          const isFirst = seen.rows === undefined;
          const value = { rows: snapshot.rows, changed: this.watched.changes(seen.rows ?? [], snapshot.rows, changed) };
          seen = snapshot;
          changed = [];
          // What came and went again meanwhile is no change.
          if (isFirst || value.changed.length > 0) return { done: false, value };
          continue;
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

/** A live query of rows. */
export const watchRows = (store: ChangeSource, source: RangeSource, request: WatchRequest): LiveQuery =>
  new Live(new Watched(store, source, request), signalOf(request));

/** A live query of rows of an instance in this browser. */
export const liveRows = (client: Client, source: RangeSource, request: WatchRequest): LiveQuery => watchRows(engineChanges(client), source, request);
