/**
 * Timelines on TabStore: messages in the order of their sequence ids, for chats, feeds and devices [L1], [L2], [L3].
 *
 * This module is the entry `tabstore/timeline`. It works on the public interface of a {@link Database} alone, so it goes with
 * each of the other entries, in followers, and in Node. Names are those of the Timeline library of the service; shapes are
 * those of this package.
 *
 * @module
 */

import type { Database } from "../index.js";
import { Host } from "./check.js";
import { MetaStore } from "./meta.js";
import { Store } from "./store.js";
import type { Timelines, TimelinesOptions } from "./types.js";

export type * from "./types.js";

/**
 * Makes stores of timelines and of their metas on an open database. Nothing is read or written by this.
 *
 * @throws `OTSParameterInvalid` for a wrong option.
 * @example
 * ```ts
 * import { timelines } from "tabstore/timeline";
 *
 * interface Message { readonly from: string; readonly text: string }
 * const rooms = timelines(db).createTimelineStore<Message>({ tableName: "rooms", identifier: [{ name: "room", type: "STRING" }] });
 * await rooms.prepareTables();
 * const lobby = rooms.createTimelineQueue({ room: "lobby" });
 * await lobby.store({ from: "ann", text: "hello" });
 * for await (const { sequenceId, message } of lobby.scanBackward()) console.log(sequenceId, message.from, message.text);
 * ```
 */
export function timelines(db: Database, options?: TimelinesOptions): Timelines {
  const host = new Host(db, options?.integers === "bigint");
  const { integers = "auto" } = host.options(options, ["integers"], "timelines");
  host.check(integers, ["auto", "bigint"], "integers");
  return {
    createTimelineStore: (schema) => new Store(host, schema),
    createMetaStore: (schema) => new MetaStore(host, schema),
  };
}
