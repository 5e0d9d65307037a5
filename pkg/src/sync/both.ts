/** What only a job needs that goes both ways. A file of its own, loaded when such a job begins. */

import type { PrimaryKey } from "../index.js";
import { type Columns, digest } from "./cells.js";
import type { Item } from "./feed.js";
import { History } from "./history.js";
import { merge, type Merged, type MergeSide } from "./merge.js";

export { unite } from "./merge.js";

/** The changes of a side, and the digests of the rows to which the job may have written without that its record was read. */
export interface Changes {
  readonly items: readonly Item[];
  readonly uncertain: ReadonlySet<string>;
}

function historiesOf(items: readonly Item[]): Map<string, History> {
  const found = new Map<string, History>();
  for (const { row, change, own } of items) {
    let history = found.get(row);
    if (history === undefined) found.set(row, (history = new History()));
    history.add(change, own !== undefined);
  }
  return found;
}

/** A row of both sides, `from` first. `null`: a side has no such row. */
export interface Pair {
  readonly key: PrimaryKey;
  readonly from: Columns | null;
  readonly to: Columns | null;
}

/** Decides what rows become, by the changes of both sides, `from` first. `keyOf`: the text of a key. */
export function decider(changes: readonly Changes[], keyOf: (key: PrimaryKey) => string, maxVersions: number): (pair: Pair) => Merged {
  const histories = changes.map(({ items }) => historiesOf(items));
  return ({ key, from, to }) => {
    const row = keyOf(key);
    const [a, b] = [from, to].map(
      (columns, i): MergeSide => ({ columns, history: histories[i].get(row) ?? new History(), isUncertain: changes[i].uncertain.has(digest(row)) }),
    );
    return merge(a, b, maxVersions);
  };
}
