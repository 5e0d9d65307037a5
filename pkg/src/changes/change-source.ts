/** What live queries ask an instance, beside its rows, and how the engine of one in this browser is asked. */

import { batchGet } from "../client/batch-get.js";
import type { Client } from "../client/client.js";
import { type FieldWriter, FrameWriter } from "../codec/frame.js";
import type { DecodeContext } from "../codec/parts.js";
import type { Row } from "../types/row.js";
import type { BatchGetItem, BatchGetResult, CallOptions, PrimaryKey, RangeKey } from "../types/rows.js";
import { keyNames, ownRow } from "./own-row.js";

/** A place in the order of changes. The engine understands it. */
export interface Place {
  readonly record: number;
  readonly seqno: number;
}

/** What the engine answers to a watcher. */
export interface Told {
  readonly place: Place;
  /** The changed keys. `null`: any row may have changed. */
  readonly keys: Uint8Array | null;
}

/** The rows whose changes are waited for, and whether to wait. */
export interface Waiting {
  readonly tableName: string;
  readonly primaryKey?: PrimaryKey | undefined;
  readonly start: RangeKey | undefined;
  readonly end: RangeKey | undefined;
  /** The last row that counts. */
  readonly last?: PrimaryKey | undefined;
  readonly backward: boolean;
  /** Where to go on; without it the answer tells where to begin. */
  readonly place: Place | undefined;
  readonly waits: boolean;
}

/** What a live query asks an instance, beside its rows. */
export interface ChangeSource {
  /** Tells which writes may have changed rows, or waits for the next ones. */
  awaitChange(waiting: Waiting, call: CallOptions): Promise<Told>;
  /** Reads rows by their keys. */
  batchGetRow(tables: readonly BatchGetItem[], call: CallOptions): Promise<BatchGetResult[][]>;
  /** How the keys that it tells are read. */
  readonly context: DecodeContext;
  /** Takes the columns of a key, so that a wrong one is refused. */
  fields(): FieldWriter;
  /** The names of a row's key columns, in schema order. */
  keyNames(row: Row): readonly string[];
  /** A row that keeps no others in memory. */
  ownRow(row: Row): Row;
}

/** The changes that an engine tells. */
export const engineChanges = (client: Client): ChangeSource => ({
  awaitChange: (waiting, call) => client.admin<Told>("awaitChange", waiting, call),
  batchGetRow: (tables, call) => batchGet(client, tables, call),
  context: client,
  fields: () => new FrameWriter(),
  keyNames,
  ownRow,
});
