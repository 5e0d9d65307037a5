/**
 * The rows of consumer groups, in a table of the instance. They know nothing of reading and of time.
 *
 * | `item` | the row |
 * |---|---|
 * | `""` | the group: its type, its stream, its id. A group that is made again has another id |
 * | `channel <id> <shard>` | a channel: who has it, and its place |
 * | `consumer <id> <consumer>` | a consumer: its heartbeat |
 *
 * A row of a channel is written by compare-and-set on its sequence number, so two consumers never take turns unnoticed. Channels
 * come and go only together with a change of the group's own number.
 */

import { TabStoreError } from "../../types/errors.js";
import { col } from "../../types/filter.js";
import type { ConsumerChannel, ConsumerGroupSummary, ConsumerType } from "../../types/consumer.js";
import type { Database } from "../../types/database.js";
import type { Row } from "../../types/row.js";
import type { Attributes, BatchWriteItem, CallOptions, Condition, KeyValue } from "../../types/rows.js";
import { INF_MAX, INF_MIN } from "../../types/values.js";
import { TABLE } from "./table.js";

/** The most rows of an atomic batch, but for the group's. */
const MOST = 199;

/** The methods that groups need. */
export type Rows = Pick<Database, "createTable" | "scan" | "getRow" | "getRange" | "putRow" | "deleteRow" | "batchWriteRow" | "describeTable">;

/** The row of a group. */
export interface GroupRow extends ConsumerGroupSummary {
  readonly id: string;
  /** Grows with each change of the set of channels. */
  readonly seq: number;
  /** The stream; empty: it reads none. */
  readonly streamId: string;
}

/** A place: first in the rows of the table, then in the shard. */
export interface Place {
  /** The values of the first key columns that the next row has or is behind; `undefined`: no rows are left. */
  readonly base: readonly KeyValue[] | undefined;
  /** The iterator; `null`: the end of the channel. */
  readonly iterator: string | null;
}

/** The row of a channel. */
export interface ChannelRow extends Place {
  readonly id: string;
  readonly seq: number;
  readonly state: ConsumerChannel["state"];
  /** The consumer that has it; empty: none. */
  readonly owner: string;
  /** Grows with each consumer that takes it. */
  readonly version: number;
  /** The partition key that the rows of its full part are before; `null`: the end of the table. */
  readonly before: KeyValue | null;
  /** When its place was stored last. */
  readonly time: number;
}

/** The row of a consumer. */
export interface ConsumerRow {
  readonly beat: number;
  /** Its own `heartbeatTimeout`. */
  readonly timeout: number;
  /** Whether it holds a lock of the browser with its name. */
  readonly hasLock: boolean;
}

/** All rows of a group. */
export interface Seen {
  readonly group: GroupRow;
  readonly channels: Map<string, ChannelRow>;
  readonly consumers: Map<string, ConsumerRow>;
}

/** Whether an error of the database has this code. The page may have several entries, each with a class of its own. */
export const hasCode = (error: unknown, code: string): boolean => (error as { code?: unknown } | null)?.code === code;

/** Makes a call again whose outcome is unknown, because another tab leads since. It must be one that may be done twice. */
export async function again<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!hasCode(error, "LeaderChanged") || tries === 3) throw error;
    }
  }
}

/** An error of groups. */
export const failure = (code: string, status: number, message: string, hint?: string, cause?: unknown): TabStoreError =>
  new TabStoreError({ code, status, retryable: false, message, hint }, cause === undefined ? undefined : { cause });

const text = (row: Row, name: string): string => row.get(name) as string;
const number = (row: Row, name: string): number => Number(row.get(name));

function groupOf(row: Row): GroupRow {
  return {
    tableName: row.primaryKey.table as string,
    group: row.primaryKey.group as string,
    type: text(row, "type") as ConsumerType,
    creationTime: number(row, "created"),
    id: text(row, "id"),
    seq: number(row, "seq"),
    streamId: text(row, "stream"),
  };
}

function channelOf(id: string, row: Row): ChannelRow {
  const base = row.get("base") === undefined ? undefined : Array.from({ length: number(row, "base") }, (_, i) => row.get(`base${i}`) as KeyValue);
  return {
    id,
    seq: number(row, "seq"),
    state: text(row, "state") as ChannelRow["state"],
    owner: text(row, "owner"),
    version: number(row, "version"),
    base,
    before: (row.get("before") as KeyValue | undefined) ?? null,
    iterator: (row.get("iterator") as string | undefined) ?? null,
    time: number(row, "time"),
  };
}

function attributesOf({ seq, state, owner, version, base, before, iterator, time }: ChannelRow): Attributes {
  const columns: Record<string, KeyValue> = { seq, state, owner, version, time };
  if (base !== undefined) columns.base = base.length;
  base?.forEach((value, i) => (columns[`base${i}`] = value));
  if (before !== null) columns.before = before;
  if (iterator !== null) columns.iterator = iterator;
  return columns;
}

const hasSeq = (seq: number) => col("seq").eq(seq, { passIfMissing: false });
const hasId = (id: string) => col("id").eq(id, { passIfMissing: false });
const isAt = (seq: number): Condition => ({ rowExistence: "EXPECT_EXIST", column: hasSeq(seq) });

/** All groups, or those of a table. */
export async function groups(db: Rows, table: string | undefined, call: CallOptions): Promise<ConsumerGroupSummary[]> {
  const key = (infinity: typeof INF_MIN | typeof INF_MAX) => ({ table: table ?? infinity, group: infinity, item: infinity });
  const found: ConsumerGroupSummary[] = [];
  try {
    for await (const row of db.scan({ tableName: TABLE, start: key(INF_MIN), end: key(INF_MAX), ...call })) {
      if (row.primaryKey.item !== "") continue;
      const { tableName, group, type, creationTime } = groupOf(row);
      found.push({ tableName, group, type, creationTime });
    }
  } catch (error) {
    if (!hasCode(error, "OTSObjectNotExist")) throw error;
  }
  return found;
}

/** The rows of one group. */
export class GroupStore {
  constructor(
    private readonly db: Rows,
    readonly tableName: string,
    readonly group: string,
  ) {}

  private key(item: string): Record<"table" | "group" | "item", string> {
    return { table: this.tableName, group: this.group, item };
  }

  /** Makes the table, unless it is there. */
  async prepare(): Promise<void> {
    const primaryKey = ["table", "group", "item"].map((name) => ({ name, type: "STRING" as const }));
    await again(() => this.db.createTable({ tableName: TABLE, primaryKey })).catch((error: unknown) => {
      if (!hasCode(error, "OTSObjectAlreadyExist")) throw error;
    });
  }

  /** Reads all rows; `undefined`: there is no such group. */
  read(call: CallOptions = {}): Promise<Seen | undefined> {
    return again(() => this.readOnce(call));
  }

  private async readOnce(call: CallOptions): Promise<Seen | undefined> {
    const { table, group } = this.key("");
    let seen: Seen | undefined;
    try {
      const rows = this.db.scan({ tableName: TABLE, start: { table, group, item: INF_MIN }, end: { table, group, item: INF_MAX }, ...call });
      for await (const row of rows) {
        const item = row.primaryKey.item as string;
        // The group's row comes first. Without it, or under another id, rows are those of a group that was deleted, or that is being made.
        if (item === "") seen = { group: groupOf(row), channels: new Map(), consumers: new Map() };
        const [kind, id, name] = item.split(" ");
        if (seen === undefined || id !== seen.group.id) continue;
        if (kind === "channel") seen.channels.set(name, channelOf(name, row));
        else seen.consumers.set(name, { beat: number(row, "beat"), timeout: number(row, "timeout"), hasLock: row.get("lock") === true });
      }
    } catch (error) {
      if (!hasCode(error, "OTSObjectNotExist")) throw error;
    }
    return seen;
  }

  private putChannel(id: string, row: ChannelRow): BatchWriteItem {
    return {
      tableName: TABLE,
      put: { primaryKey: this.key(`channel ${id} ${row.id}`), attributes: attributesOf(row), condition: { rowExistence: "EXPECT_NOT_EXIST" } },
    };
  }

  private putGroup({ id, type, streamId, creationTime, seq }: GroupRow, condition: Condition): BatchWriteItem {
    return { tableName: TABLE, put: { primaryKey: this.key(""), attributes: { id, type, stream: streamId, created: creationTime, seq }, condition } };
  }

  /** Writes all or nothing. Returns whether the conditions held, unless it was done before and its answer was lost. */
  private async together(rows: readonly BatchWriteItem[]): Promise<boolean> {
    const errors = (await again(() => this.db.batchWriteRow(rows, { atomic: true }))).flatMap(({ error }) => error ?? []);
    if (errors.length > 0 && !errors.some((error) => hasCode(error, "OTSConditionCheckFail"))) throw errors[0];
    return errors.length === 0;
  }

  /** Makes the group, unless another consumer has just made it. */
  async create(row: GroupRow, channels: readonly ChannelRow[]): Promise<void> {
    const puts = channels.map((channel) => this.putChannel(row.id, channel));
    // Nobody sees them before the group's row.
    while (puts.length > MOST) await this.together(puts.splice(0, MOST));
    const made = await this.together([this.putGroup(row, { rowExistence: "EXPECT_NOT_EXIST" }), ...puts]);
    if (!made && (await this.read())?.group.id !== row.id) await this.drop(row.id);
  }

  /** Adds channels and removes others, if nobody else has changed their set. */
  change(group: GroupRow, added: readonly ChannelRow[], removed: readonly ChannelRow[]): Promise<boolean> {
    const rows: BatchWriteItem[] = [
      ...added.map((channel) => this.putChannel(group.id, channel)),
      ...removed.map(
        ({ id, seq }): BatchWriteItem => ({ tableName: TABLE, delete: { primaryKey: this.key(`channel ${group.id} ${id}`), condition: isAt(seq) } }),
      ),
    ];
    // One that was made in the place of a deleted one has another id, and counts from 0 too.
    const isSame: Condition = { rowExistence: "EXPECT_EXIST", column: hasSeq(group.seq).and(hasId(group.id)) };
    return this.together([this.putGroup({ ...group, seq: group.seq + 1 }, isSame), ...rows.slice(0, MOST)]);
  }

  /** Reads the row of a channel. */
  async channel(id: string, channel: string): Promise<ChannelRow | undefined> {
    const { row } = await again(() => this.db.getRow({ tableName: TABLE, primaryKey: this.key(`channel ${id} ${channel}`) }));
    return row === null ? undefined : channelOf(channel, row);
  }

  /** Writes the row of a channel, if it is still the one before. Returns whether it is known to have done so. */
  async store(id: string, row: ChannelRow): Promise<boolean> {
    try {
      await this.db.putRow({ tableName: TABLE, primaryKey: this.key(`channel ${id} ${row.id}`), attributes: attributesOf(row), condition: isAt(row.seq - 1) });
      return true;
    } catch (error) {
      if (!hasCode(error, "OTSConditionCheckFail") && !hasCode(error, "LeaderChanged")) throw error;
      return false;
    }
  }

  /** Writes a heartbeat. */
  async beat(id: string, consumer: string, { beat, timeout, hasLock }: ConsumerRow): Promise<void> {
    await again(() => this.db.putRow({ tableName: TABLE, primaryKey: this.key(`consumer ${id} ${consumer}`), attributes: { beat, timeout, lock: hasLock } }));
  }

  /** Removes a consumer, if it has sent no heartbeat since. */
  async leave(id: string, consumer: string, beat?: number): Promise<void> {
    const condition: Condition | undefined = beat === undefined ? undefined : { column: col("beat").eq(beat, { passIfMissing: false }) };
    await again(() => this.db.deleteRow({ tableName: TABLE, primaryKey: this.key(`consumer ${id} ${consumer}`), condition })).catch((error: unknown) => {
      if (!hasCode(error, "OTSConditionCheckFail")) throw error;
    });
  }

  /** Deletes the group with this id, its own row first: without it the others are no group's. One made in its place stays. */
  drop(id: string, call: CallOptions = {}): Promise<void> {
    return again(() => this.dropOnce(id, call));
  }

  private async dropOnce(id: string, call: CallOptions): Promise<void> {
    const { table, group } = this.key("");
    const own: BatchWriteItem = { tableName: TABLE, delete: { primaryKey: this.key(""), condition: { rowExistence: "EXPECT_EXIST", column: hasId(id) } } };
    const rows: BatchWriteItem[] = [];
    for await (const { primaryKey } of this.db.scan({
      tableName: TABLE,
      start: { table, group, item: INF_MIN },
      end: { table, group, item: INF_MAX },
      ...call,
    })) {
      if ((primaryKey.item as string).split(" ")[1] === id) rows.push({ tableName: TABLE, delete: { primaryKey } });
    }
    for (let isFirst = true; isFirst || rows.length > 0; isFirst = false) {
      const some = rows.splice(0, MOST);
      // Its own row may be gone already, or be another group's.
      const done = isFirst && (await this.together([own, ...some]));
      if (!done && some.length > 0) await this.together(some);
    }
  }
}
