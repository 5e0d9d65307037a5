/**
 * Paging through a range in both directions.
 *
 * A page is found by a key, not by a number. Forward it starts at the next start key that the store gave. Backward it
 * is read in the opposite direction, from the first key of the page. So it works from any place, also after a reload,
 * and costs one GetRange a page.
 */

import type { GetRangeRequest, GetRangeResult, KeyColumn, RangeKey, Row } from "tabstore";

import { compareKeys, type Direction, keyOf } from "../lib/keys.ts";

/** The range that is read. */
export interface View {
  readonly tableName: string;
  readonly schema: readonly KeyColumn[];
  readonly direction: Direction;
  readonly start: RangeKey | undefined;
  readonly end: RangeKey | undefined;
  /** Rows a page. */
  readonly limit: number;
}

/** Rows that stand together, in the order of the view. */
export interface Page {
  readonly rows: readonly Row[];
  /** Whether there may be rows before them. */
  readonly before: boolean;
  /** The key after them, where there are more. */
  readonly next: RangeKey | undefined;
  /** Where the page begins, to read it again; `undefined`: at the beginning of the range. */
  readonly from: RangeKey | undefined;
}

/** How a page is read; the console logs it. */
export type GetRange = (request: GetRangeRequest) => Promise<GetRangeResult>;

function request(view: View, direction: Direction, start: RangeKey | undefined, end: RangeKey | undefined, limit: number): GetRangeRequest {
  return { tableName: view.tableName, direction, limit, ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
}

/** The page that begins at a key, or at the beginning of the range. */
export async function pageFrom(read: GetRange, view: View, from: RangeKey | undefined): Promise<Page> {
  const { rows, nextStartPrimaryKey } = await read(request(view, view.direction, from ?? view.start, view.end, view.limit));
  return { rows, before: from !== undefined, next: (nextStartPrimaryKey as RangeKey | null) ?? undefined, from };
}

/** Compares two keys in the order of the view. */
function order(view: View, a: RangeKey, b: RangeKey): number {
  const difference = compareKeys(view.schema, a, b);
  return view.direction === "FORWARD" ? difference : -difference;
}

/** The page that ends before a key, or at the end of the range. */
export async function pageBefore(read: GetRange, view: View, key: RangeKey | undefined): Promise<Page> {
  const { start, limit } = view;
  const edge = key ?? view.end;
  const opposite = view.direction === "FORWARD" ? "BACKWARD" : "FORWARD";
  // One row more for the edge itself, which a start includes, and one to know whether there are more.
  const { rows } = await read(request(view, opposite, edge, undefined, limit + 2));
  const inside = rows.filter(
    (row) => (edge === undefined || order(view, keyOf(row), edge) < 0) && (start === undefined || order(view, keyOf(row), start) >= 0),
  );
  const page = inside.slice(0, limit).reverse();
  const first = page[0];
  return { rows: page, before: inside.length > limit, next: key, from: first === undefined ? undefined : keyOf(first) };
}

/** Reads a page of a view. */
export type Turn = (view: View) => Promise<Page>;

/** The turns of a browser's pages. Only the page that was asked for last is shown. */
export class PageTurns {
  /** The turn whose page has not come. */
  private asked: Turn | undefined;
  private readonly show: (page: Page | undefined, error: unknown) => void;

  constructor(show: (page: Page | undefined, error: unknown) => void) {
    this.show = show;
  }

  /** Turns to a page. */
  read(view: View, turn: Turn): void {
    // An object of its own, because the same turn may be asked for twice.
    const mine: Turn = (asked) => turn(asked);
    this.asked = mine;
    const show = (page: Page | undefined, error?: unknown) => {
      if (this.asked !== mine) return;
      this.asked = undefined;
      this.show(page, error);
    };
    mine(view).then(show, (error: unknown) => show(undefined, error));
  }

  /** Reads again what is shown. A page that was asked for and has not come must not be lost to it: that one is read. */
  again(view: View, shown: Turn): void {
    this.read(view, this.asked ?? shown);
  }
}
