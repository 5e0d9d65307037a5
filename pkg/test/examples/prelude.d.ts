/**
 * The names that the examples of the READMEs and the doc comments use without an import. A name that is neither here
 * nor declared by the example fails the test (`examples.test.ts`).
 */

import type { Database, PrimaryKey, Row } from "tabstore";
import type { TimelineMetaStore, TimelineQueue, TimelineStore } from "tabstore/timeline";

/** A message of a chat. */
interface ChatMessage {
  readonly from: string;
  readonly text: string;
}

declare global {
  /** An open instance. */
  const db: Database;
  /** A database of another instance. */
  const other: Database;
  /** The name of a table, and a whole primary key of it. */
  const tableName: string;
  const primaryKey: PrimaryKey;
  /** A file that the user has chosen, and the signal that cancels its import. */
  const file: File;
  const signal: AbortSignal;
  /** Measures to store. */
  const readings: readonly { readonly station: string; readonly at: number; readonly tempMax: number }[];
  /** A chat: one of its timelines, the inboxes of its users, and the metas of its rooms. */
  const room: TimelineQueue<ChatMessage>;
  const inboxes: TimelineStore<ChatMessage>;
  const rooms: TimelineMetaStore<{ readonly owner: string; readonly title: string; readonly members: readonly string[] }>;
  /** Puts a row or a text on the page. */
  function show(what: Row | string): void;
  /** React's, as far as the example needs them. */
  function useState<T>(initial: T): [T, (next: T) => void];
  function useEffect(effect: () => () => void, dependencies: readonly unknown[]): void;
  /** Draws how far something is, from 0 to 1. */
  function bar(part: number): void;
  /** Reads rows to the end. */
  function read(rows: AsyncIterable<Row>): Promise<void>;
}
