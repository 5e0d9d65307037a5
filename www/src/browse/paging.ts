/**
 * Paging through a range in both directions.
 *
 * A page is found by a key, not by a number. Forward it starts at the next start key that the store gave. Backward it
 * is read in the opposite direction, from the first key of the page. So it works from any place, also after a reload,
 * and costs one GetRange a page. With a filter it takes as many as it needs to fill the page.
 */

import type { Consumed, Filter, GetRangeRequest, GetRangeResult, KeyColumn, RangeKey, Row, ValueType } from "tabstore";

import { ascending, compareKeys, type Direction, keyOf } from "../lib/keys.ts";

/** The range that is read. */
export interface View {
  readonly tableName: string;
  readonly schema: readonly KeyColumn[];
  readonly direction: Direction;
  readonly start: RangeKey | undefined;
  readonly end: RangeKey | undefined;
  /** Which rows of it; none: all. */
  readonly filter?: Filter | undefined;
  /** Rows a page. */
  readonly limit: number;
}

/** The rows of a view, all pages together, as calls take them that know the order of the keys alone. */
export function partOf({ schema, filter, ...range }: View): Pick<GetRangeRequest, "start" | "end" | "filter"> {
  return { ...ascending(schema, range), ...(filter === undefined ? {} : { filter }) };
}

/** The attribute columns of the rows shown, with the type of each one's first value. */
export type KnownColumns = ReadonlyMap<string, ValueType>;

/** Rows that stand together, in the order of the view. */
export interface Page {
  /** What it is a page of: the place shown may be of another view until its page has come. */
  readonly view: View;
  readonly rows: readonly Row[];
  /** Whether there may be rows before them. */
  readonly before: boolean;
  /** The key after them, where there are more. */
  readonly next: RangeKey | undefined;
  /** Where the page begins, to read it again; `undefined`: at the beginning of the range. */
  readonly from: RangeKey | undefined;
  /** What it cost to find them. */
  readonly consumed: Consumed;
}

/** How a page is read; the console logs it. */
export type GetRange = (request: GetRangeRequest) => Promise<GetRangeResult>;

/** A part of a view to read. */
interface Reading {
  readonly direction: Direction;
  readonly start: RangeKey | undefined;
  readonly end?: RangeKey | undefined;
  /** Rows at most. */
  readonly limit: number;
  /** Whether what is left, from this key on, cannot be in the view. */
  readonly isOver?: (next: RangeKey) => boolean;
}

/** The rows of a part. One call goes through 5000 rows at most, however few of them pass a filter: then it goes on. */
async function collect(read: GetRange, { tableName, filter }: View, { direction, start, end, limit, isOver }: Reading, signal?: AbortSignal) {
  const rows: Row[] = [];
  const consumed = { read: 0, write: 0 };
  let from = start;
  for (;;) {
    signal?.throwIfAborted();
    const ends = { ...(from === undefined ? {} : { start: from }), ...(end === undefined ? {} : { end }) };
    const got = await read({ tableName, direction, limit: limit - rows.length, ...ends, ...(filter === undefined ? {} : { filter }) });
    rows.push(...got.rows);
    consumed.read += got.consumed.read;
    const next = (got.nextStartPrimaryKey as RangeKey | null) ?? undefined;
    if (filter === undefined || next === undefined || rows.length >= limit || isOver?.(next)) return { rows, next, consumed };
    from = next;
  }
}

/** The page that begins at a key, or at the beginning of the range. */
export async function pageFrom(read: GetRange, view: View, from: RangeKey | undefined, signal?: AbortSignal): Promise<Page> {
  const { direction, end, limit } = view;
  return { ...(await collect(read, view, { direction, start: from ?? view.start, end, limit }, signal)), before: from !== undefined, from, view };
}

/** Compares two keys in the order of the view. */
function order(view: View, a: RangeKey, b: RangeKey): number {
  const difference = compareKeys(view.schema, a, b);
  return view.direction === "FORWARD" ? difference : -difference;
}

/** The page that ends before a key, or at the end of the range. */
export async function pageBefore(read: GetRange, view: View, key: RangeKey | undefined, signal?: AbortSignal): Promise<Page> {
  const { start, limit } = view;
  const edge = key ?? view.end;
  const direction = view.direction === "FORWARD" ? "BACKWARD" : "FORWARD";
  const isOver = (next: RangeKey) => start !== undefined && order(view, next, start) < 0;
  // One row more for the edge itself, which a start includes, and one to know whether there are more.
  const { rows, consumed } = await collect(read, view, { direction, start: edge, limit: limit + 2, isOver }, signal);
  const inside = rows.filter(
    (row) => (edge === undefined || order(view, keyOf(row), edge) < 0) && (start === undefined || order(view, keyOf(row), start) >= 0),
  );
  const page = inside.slice(0, limit).reverse();
  const first = page[0];
  return { rows: page, before: inside.length > limit, next: key, from: first === undefined ? undefined : keyOf(first), consumed, view };
}

/** Reads a page of a view, and gives up when the signal says so. */
export type Turn = (view: View, signal: AbortSignal) => Promise<Page>;

/** The turns of a browser's pages. Only the page that was asked for last is shown. */
export class PageTurns {
  /** The turn whose page has not come. */
  private asked: Turn | undefined;
  /** Ends the reading of it. */
  private ending = new AbortController();
  private readonly show: (page: Page | undefined, error: unknown) => void;

  constructor(show: (page: Page | undefined, error: unknown) => void) {
    this.show = show;
  }

  /** Turns to a page. */
  read(view: View, turn: Turn): void {
    // An object of its own, because the same turn may be asked for twice.
    const mine: Turn = (asked, signal) => turn(asked, signal);
    this.stop();
    this.asked = mine;
    const show = (page: Page | undefined, error?: unknown) => {
      if (this.asked !== mine) return;
      this.asked = undefined;
      this.show(page, error);
    };
    mine(view, this.ending.signal).then(show, (error: unknown) => show(undefined, error));
  }

  /** Gives up the page that has not come: what is shown stays. */
  stop(): void {
    this.asked = undefined;
    this.ending.abort();
    this.ending = new AbortController();
  }

  /** Reads again what is shown. A page that was asked for and has not come must not be lost to it: that one is read. */
  again(view: View, shown: Turn): void {
    this.read(view, this.asked ?? shown);
  }
}
