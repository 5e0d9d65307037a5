/** The partitions of the table that is shown, read again and again while somebody looks. */

import { signal } from "@preact/signals";
import type { PartitionDescription } from "tabstore";

import { database, session } from "./session.ts";

/** How often to read: a split during an import is to be seen when it happens. */
const PERIOD_MS = 500;

/** The partitions of {@link watchPartitions}' table, ascending; `undefined` until they have been read. */
export const partitions = signal<readonly PartitionDescription[] | undefined>(undefined);

/** Reads a table's partitions while the page is visible, until the returned function is called. */
export function watchPartitions(tableName: string): () => void {
  partitions.value = undefined;
  let timer = 0;
  let stopped = false;
  const turn = async () => {
    try {
      if (!document.hidden && session.peek().state === "open") {
        const { partitions: read } = await database().describeTable(tableName);
        if (!stopped) partitions.value = read;
      }
    } catch {
      // The table is gone, or the engine: others say so.
    }
    if (!stopped) timer = window.setTimeout(() => void turn(), PERIOD_MS);
  };
  void turn();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
