/** Timelines for tests. */

import type { Database } from "../../src/index.js";
import { type SequenceId, type TimelineEntry, timelines, type TimelineStore } from "../../src/timeline/index.js";
import { open } from "./package.js";

export interface Message {
  readonly text: string;
  readonly n?: number;
}

/** A store of timelines with one text as identifier. */
export async function chat(
  db: Database,
  more: { readonly sequenceIdGeneration?: "MANUAL"; readonly allowChosen?: boolean; readonly timeToLive?: number } = {},
): Promise<TimelineStore<Message>> {
  const store = timelines(db).createTimelineStore<Message>({ tableName: "chat", identifier: [{ name: "room", type: "STRING" }], ...more });
  await store.prepareTables();
  return store;
}

/** The ids of a scan. */
export async function ids(entries: AsyncIterable<TimelineEntry<unknown>>): Promise<SequenceId[]> {
  const found: SequenceId[] = [];
  for await (const { sequenceId } of entries) found.push(sequenceId);
  return found;
}

/** The steps of a test, on a database that is closed behind them. */
export const on = (body: (db: Database) => Promise<void>) => async (): Promise<void> => {
  const db = await open();
  try {
    await body(db);
  } finally {
    await db.close();
  }
};
