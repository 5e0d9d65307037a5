/** Problems that do not end an instance: what they mean, what helps, and when they are over. Also what a refused call asks of a person. */

import type { Metrics, TableDescription, TabStoreError } from "tabstore";

/** A problem that the instance has reported. */
export interface Trouble {
  readonly error: TabStoreError;
  /** The engine at the first reading after it, and its compactions until then; `undefined`: not read yet. */
  readonly since: { readonly epoch: number; readonly compactions: number } | undefined;
}

/** A problem in words for people. */
export interface Meaning {
  readonly title: string;
  /** What still works, and what helps. */
  readonly help: string;
  /** Whether a compaction may mend it. */
  readonly compact: boolean;
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  QuotaExceeded: {
    title: "The storage of this origin is full",
    compact: false,
    help: "Delete rows or tables, or free space on this device. Once there is room, writes work again by themselves.",
  },
  Corrupt: {
    title: "A stored record is damaged",
    compact: true,
    help: "Everything that does not need this record works. Compact stores a damaged index anew. The rows of a damaged block stay unreadable.",
  },
  ClockJumped: {
    title: "The clock of this device has jumped",
    compact: false,
    help: "Versions and times to live follow the device's clock. If the clock is right now, there is nothing to do.",
  },
  Unavailable: {
    title: "A part of the engine cannot be loaded",
    compact: false,
    help: "Rows are written and read, with more and more work. The engine tries again by itself. See whether the server of this page can be reached.",
  },
};

/** The words for a problem. */
export function meaningOf({ code }: Pick<TabStoreError, "code">): Meaning {
  return MEANINGS[code] ?? { title: "The instance reports a problem", help: "It goes on.", compact: false };
}

/**
 * Whether a reading of the engine shows that a problem is over: the reserve is whole again, no partition is skipped any
 * more, or a compaction has come through. A clock's jump stays until a person has read of it.
 */
export function isOver({ error: { code }, since }: Trouble, { reserve, work, epoch }: Pick<Metrics, "reserve" | "work" | "epoch">): boolean {
  const compacted = since?.epoch === epoch && work.compactions > since.compactions;
  switch (code) {
    case "QuotaExceeded":
      return reserve.bytes >= reserve.capacity;
    case "Corrupt":
      return compacted && work.passedPartitions === 0;
    case "Unavailable":
      return compacted;
    default:
      return false;
  }
}

/** The indexes of the tables that could not be built. */
export function failedIndexes(
  tables: readonly Pick<TableDescription, "tableName" | "indexes">[],
): readonly { readonly tableName: string; readonly indexName: string; readonly failure: TabStoreError }[] {
  return tables.flatMap(({ tableName, indexes }) => indexes.flatMap(({ indexName, failure }) => (failure === null ? [] : [{ tableName, indexName, failure }])));
}

const ADVICE: Readonly<Record<string, string>> = {
  Busy: "Close it in the other tabs first.",
  LeaderChanged: "Another tab had the engine, and that tab has ended. See whether this was done, then decide whether to do it again.",
  QuotaExceeded: "Delete rows or tables, or free space on this device. Then try again.",
};

/** What a person can do about a refused call, where the message does not say it. */
export function adviceFor(code: string): string | undefined {
  return ADVICE[code];
}
