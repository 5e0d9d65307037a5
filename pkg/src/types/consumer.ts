/** The public types of consumer groups: consumers that share the work of a table's changes [ST2] to [ST4]. */

import type { StreamRecord } from "./streams.js";
import type { CallOptions, TableRequest } from "./rows.js";

/** What a group reads: the rows that are there, what changes, or first the one and then the other. */
export type ConsumerType = "BaseData" | "Stream" | "BaseAndStream";

/** The parameters of {@link Database.consumer}. They are copied: later changes of them change nothing. */
export interface ConsumerRequest extends TableRequest {
  /** The table. Its stream must be enabled, but for `"BaseData"`. */
  readonly tableName: string;
  /** The group: 1 to 255 letters (A to Z), digits, `_` and `-`. Groups of other tables may have the same name. */
  readonly group: string;
  /**
   * What the group reads. `"BaseData"`: all rows of the table, then the loop ends, when the last batches of other consumers are
   * checkpointed too. `"Stream"`: the changes. `"BaseAndStream"`: all rows, then every change since the group was made. A group keeps
   * its type. It is needed to make the group; later it may be left out. Azure tables (`account/table`) have `"Stream"`
   * only; `entityChange` of `tabstore/azure` reads their records.
   */
  readonly type?: ConsumerType | undefined;
  /**
   * Where a new group of the type `"Stream"` begins: at the oldest record that is kept (`"EARLIEST"`, the default), behind all there
   * are (`"LATEST"`), or at a time (milliseconds since 1970 UTC). It does not matter to a group that is there already.
   */
  readonly from?: "EARLIEST" | "LATEST" | number | undefined;
  /** Records of a batch at most, 1 to 1000 (the default). About 1 MB of changes, or 4 MB of rows, come at once. */
  readonly limit?: number | undefined;
  /**
   * Milliseconds without a heartbeat after which other consumers take this one's channels, 500 to 300000; default 10000. It sends
   * five heartbeats in this time, each a write of a small row. Shorter: others take over sooner from a frozen tab. Longer: fewer
   * writes. Tabs that were closed or crashed are noticed by the second heartbeat of another consumer, where there are Web Locks.
   */
  readonly heartbeatTimeout?: number | undefined;
  /** Ends the loop with its reason, and gives the channels back at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A record for a consumer, as {@link Database.changes} gives it. A row of the full part is a `"PUT"` of all its versions, with 0 as
 * `timestamp` and as `sequence`, and nothing `original`.
 */
export type ConsumerRecord = StreamRecord;

/** Records of one channel. */
export interface ConsumerBatch {
  /** The records, one at least, in order. Those of one row are in the order of their commits. */
  readonly records: readonly ConsumerRecord[];
  /** The channel that they come from. */
  readonly channelId: string;
  /** Whether they are rows that were there (`"BaseData"`) or changes (`"Stream"`). */
  readonly phase: "BaseData" | "Stream";
  /**
   * Stores that this batch, and those before it of the same channel, are done: nobody gets them again. Without it they come again
   * when another consumer has the channel, or after a reload. One call for many batches will do. The shards that follow a
   * channel (after a cut or a merger of partitions) begin only when its last batch is checkpointed.
   *
   * @throws `OTSSequenceNumberNotMatch` if this consumer has lost the channel: it was frozen for longer than its
   * `heartbeatTimeout`, or has ended, or it asked for more batches and kept this one without a checkpoint for so long while
   * another consumer waited for its share. Another one gets the records again. If you catch it, the loop goes on with the other
   * channels.
   */
  checkpoint(): Promise<void>;
}

/**
 * A group of consumers that share the work of a table's changes: the service calls it a tunnel. Each loop over it is one consumer,
 * in this tab or another one. They divide the channels (one for each shard of the stream) among them. When one ends, is closed,
 * crashes or freezes, others take its channels, and go on from their last checkpoints.
 *
 * Each record comes at least once [ST2]. The records of one row come in order: a channel is read by one consumer at a time, parents
 * before children, and the full part of a channel before its changes. A group that nobody reads costs nothing: after the retention of the
 * stream [ST3] its place has expired, and the next loop says so. A group stays when its table is deleted: delete it too, or a group of
 * the type `"BaseData"` has nothing left to read in the next table of that name.
 */
export interface ConsumerGroup {
  /**
   * Begins a consumer, with its first `next`. It makes the group if there is none. `break` ends it, and gives its channels back at once.
   *
   * @throws `OTSParameterInvalid` for a wrong argument; `OTSObjectNotExist` if there is no table, no stream (the hint says how to
   * enable it), or no group and no `type` to make it; `OTSTunnelExist` if the group has another type; `OTSTunnelExpired` if records behind the group's place have
   * expired, or its stream was disabled: {@link ConsumerGroup.delete} it and begin again; `OTSResourceGone` if the group
   * was deleted meanwhile; the signal's reason.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<ConsumerBatch>;
  /** Who has which channels, and how far behind they are. It reads one record a channel. @throws `OTSObjectNotExist`. */
  describe(options?: CallOptions): Promise<ConsumerGroupDescription>;
  /** Deletes the group and its places. Its consumers end with `OTSResourceGone`. @throws `OTSObjectNotExist`. */
  delete(options?: CallOptions): Promise<void>;
}

/** A group, as {@link Database.listConsumerGroups} gives it. */
export interface ConsumerGroupSummary {
  /** Its table. The name of an Azure table, `account/table`, is in lower case here, and in the errors of its groups. */
  readonly tableName: string;
  /** Its name. */
  readonly group: string;
  /** What it reads. */
  readonly type: ConsumerType;
  /** When it was made, milliseconds since 1970 UTC. */
  readonly creationTime: number;
}

/** The description of a group. */
export interface ConsumerGroupDescription extends ConsumerGroupSummary {
  /** The ids of its consumers. One that has crashed stays until another consumer has noticed it. */
  readonly consumers: readonly string[];
  /** Its channels. Those that were read to their ends are forgotten some time later. */
  readonly channels: readonly ConsumerChannel[];
}

/** A channel of a group: a shard of the stream, or for `"BaseData"` a partition of the table. */
export interface ConsumerChannel {
  /** Its id: that of the shard. */
  readonly channelId: string;
  /**
   * `"OPEN"`: a consumer has it. `"CLOSING"`: its consumer is about to give it back. `"CLOSE"`: nobody has it. `"TERMINATED"`: it was
   * read to its end.
   */
  readonly state: "OPEN" | "CLOSING" | "CLOSE" | "TERMINATED";
  /** What its next records are. */
  readonly phase: "BaseData" | "Stream";
  /** The consumer that has it, or `null`. */
  readonly consumer: string | null;
  /** When its place was stored last, milliseconds since 1970 UTC. */
  readonly checkpointTime: number;
  /** When the oldest change without a checkpoint was recorded, milliseconds since 1970 UTC; `null`: there is none. */
  readonly waitingSince: number | null;
  /** Whether records behind its place have expired: the group cannot go on. */
  readonly expired: boolean;
}

/** The parameters of {@link Database.listConsumerGroups}. */
export interface ListConsumerGroupsRequest extends CallOptions {
  /** The groups of one table; by default all. */
  readonly tableName?: string | undefined;
}
