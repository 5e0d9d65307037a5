/** The work of a job on two tables: copies a stretch of rows, or carries over some changes. Each call may be repeated after a failure. */

import type { PrimaryKey } from "../index.js";
import { type Columns, compareKeys, digest, keyOfText, type Versions } from "./cells.js";
import type { Checkpoint, Place } from "./checkpoint.js";
import type { Pair } from "./both.js";
import type { Expected, Feed } from "./feed.js";
import type { Merged } from "./merge.js";
import { plan, type RowWrite, signatureOfWrite, type Wanted } from "./plan.js";
import type { Side, Watch } from "./side.js";

/** Rows of a stretch of the copy. */
const COPY_ROWS = 500;
/** Changes that are carried over together. */
const CHANGES = 500;

/** Own writes whose records are still to come, at most, before more rows are copied. */
const OWN = 5000;

/** What a job has done. */
export interface Counts {
  rowsCopied: number;
  changesRead: number;
  rowsWritten: number;
  conflicts: number;
}

/** The writes to one side. */
interface SideWrites {
  readonly side: Side;
  /** The feed of the side, if the job reads it. */
  readonly feed: Feed | undefined;
  readonly writes: RowWrite[];
}

/** The rules of a job that goes both ways. */
export type Both = typeof import("./both.js");

/** See the top of the file. `feeds`: that of `from`, and that of `to` if rows go both ways. */
export class TablePair {
  constructor(
    private readonly from: Side,
    private readonly to: Side,
    readonly feeds: readonly [Feed] | readonly [Feed, Feed],
    private readonly checkpoint: Checkpoint,
    private place: Omit<Place, "form" | "tokens" | "own" | "rowsCopied">,
    private readonly counts: Counts,
    private readonly both: Both | undefined,
  ) {}

  private get isBoth(): boolean {
    return this.both !== undefined;
  }

  /** Whether rows are to be copied. */
  get isCopying(): boolean {
    return this.place.cursor !== undefined;
  }

  /** Whether it is not the first copy. */
  get isAgain(): boolean {
    return this.place.again;
  }

  /** Whether all changes that were there are carried over. */
  get isCaughtUp(): boolean {
    return this.feeds.every(({ items, isDrained }) => isDrained && items.length === 0);
  }

  /** Whether so many records of own writes are still to come that they should be read first: the place has a note of each. */
  get isBehind(): boolean {
    return !this.isCaughtUp && this.feeds.some(({ own }) => own.length > OWN);
  }

  /** When the oldest change was made that is not carried over. */
  get oldest(): number | undefined {
    const times = this.feeds.flatMap(({ items }) => (items.length === 0 ? [] : [items[0].change.timestamp]));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Stores the place. */
  store(place = this.place): Promise<void> {
    const { rowsCopied } = this.counts;
    return this.checkpoint.store({ ...place, rowsCopied, tokens: this.feeds.map((feed) => feed.place), own: this.feeds.map(({ own }) => own) });
  }

  /** Copies a stretch of rows: the ones that both sides show between two keys. */
  async copy(): Promise<void> {
    const { primaryKey } = this.from.table;
    const { cursor = "" } = this.place;
    const start = cursor === "" ? null : keyOfText(primaryKey, cursor);
    const [source, target] = await Promise.all([this.from.range(start, COPY_ROWS), this.to.range(start, COPY_ROWS)]);
    // The stretch ends where the first of the two pages does.
    const next = compareKeys(primaryKey, source.next, target.next) <= 0 ? source.next : target.next;
    const pairs = new Map<string, Pair>();
    let copied = 0;
    for (const [page, isSource] of [
      [source, true],
      [target, false],
    ] as const) {
      for (const [text, { key }] of page.rows) {
        if (compareKeys(primaryKey, key, next) >= 0) continue;
        if (isSource) copied += 1;
        pairs.set(text, { key, from: source.rows.get(text)?.columns ?? null, to: target.rows.get(text)?.columns ?? null });
      }
    }
    const { maxVersions } = this.from.table;
    const { both } = this;
    await this.carry([...pairs.values()], both === undefined ? copyOf : ({ from, to }) => both.unite(from, to, maxVersions));
    this.place = { ...this.place, cursor: next === null ? undefined : this.from.keyOf(next) };
    this.counts.rowsCopied += copied;
    await this.store();
  }

  /** Carries over changes that are there; some of them, if there are many. */
  async follow(): Promise<void> {
    const { feeds, counts } = this;
    for (const feed of feeds) await feed.fill(CHANGES);
    const passed = feeds.map(({ items }) => items.length);
    if (passed.every((count) => count === 0)) return;
    const changed = new Map<string, PrimaryKey>();
    for (const { items } of feeds) for (const { row, key, own } of items) if (own === undefined) changed.set(row, key);
    const keys = [...changed.values()];
    const [from, to] = await Promise.all([this.from.rows(keys), this.to.rows(keys)]);
    // Records of what the rows show already, so that few of them are unknown.
    if (this.isBoth) for (const feed of feeds) await feed.fill(feed.items.length + CHANGES);
    const pairs = [...changed].map(([text, key]): Pair => ({ key, from: from.get(text) ?? null, to: to.get(text) ?? null }));
    const side = this.from;
    await this.carry(pairs, this.both?.decider(feeds, (key) => side.keyOf(key), side.table.maxVersions) ?? copyOf);
    counts.changesRead += feeds.reduce((sum, { items }, i) => sum + items.slice(0, passed[i]).filter(({ own }) => own === undefined).length, 0);
    feeds.forEach((feed, i) => feed.pass(passed[i]));
    await this.store();
  }

  /** Writes to each side what its rows are to be. */
  private async carry(pairs: readonly Pair[], decide: (pair: Pair) => Merged): Promise<void> {
    const { isBoth } = this;
    const ofTo: SideWrites = { side: this.to, feed: this.feeds[1], writes: [] };
    const ofFrom: SideWrites = { side: this.from, feed: this.feeds[0], writes: [] };
    let found = 0;
    for (const pair of pairs) {
      const { columns, exists, conflicts } = decide(pair);
      found += conflicts;
      for (const [{ side, writes }, there] of [
        [ofTo, pair.to],
        [ofFrom, pair.from],
      ] as const) {
        if (side === this.from && !isBoth) continue;
        const fitting = side.fit(pair.key, columns, there);
        // A row of which the side keeps no cell is not there.
        const wanted: Wanted = { columns: fitting, keepsOthers: isBoth, exists: exists && (hasCells(fitting) || !hasCells(columns)) };
        writes.push(...plan(pair.key, there, wanted, side.table.allowUpdate));
      }
    }
    await this.expectAndWrite([ofTo, ofFrom]);
    this.counts.conflicts += found;
  }

  /**
   * Writes, and notes before what it is about to write, so that it knows the records of it, also after a restart. A run whose place was taken
   * over writes nothing.
   */
  private async expectAndWrite(all: readonly SideWrites[]): Promise<void> {
    if (all.every(({ writes }) => writes.length === 0)) return;
    const expected = new Map<RowWrite, Expected>();
    const expect = ({ side, feed }: SideWrites, write: RowWrite): unknown =>
      feed && expected.set(write, feed.expect(signatureOfWrite(side.table.primaryKey, write), digest(side.keyOf(write.key))));
    for (const one of all) for (const write of one.writes) expect(one, write);
    try {
      await this.store();
    } catch (error) {
      for (const { feed, writes } of all) for (const write of writes) if (feed) feed.forget(expected.get(write)!);
      throw error;
    }
    for (const one of all) {
      await this.write(one, {
        reduced: (write) => {
          expect(one, write);
          return this.store();
        },
        failed: (write) => {
          const note = expected.get(write);
          if (note !== undefined) one.feed?.forget(note);
        },
      });
    }
  }

  private async write({ side, writes }: SideWrites, watch: Watch): Promise<void> {
    if (writes.length === 0) return;
    await side.write(writes, watch);
    this.counts.rowsWritten += new Set(writes.map(({ key }) => side.keyOf(key))).size;
  }
}

const hasCells = (columns: Columns): boolean => [...columns.values()].some(({ size }) => size > 0);

/** What a row becomes in the target of a copy in one direction. */
const copyOf = ({ from }: Pair): Merged => ({ columns: from ?? new Map<string, Versions>(), exists: from !== null, conflicts: 0 });
