/** A channel that a consumer has: reads it, and stores its place by compare-and-set. */

import type { Client } from "../../client/client.js";
import { again, type ChannelRow, failure, type GroupRow, type GroupStore, hasCode, type Place, type Rows } from "./store.js";
import type { ConsumerRecord } from "../../types/consumer.js";
import type { Row } from "../../types/row.js";
import type { ChangedCell } from "../../types/streams.js";
import { getStreamRecord, isOfAccount } from "../streams.js";
import type { KeyValue, RangeKey } from "../../types/rows.js";
import { INF_MAX, INF_MIN } from "../../types/values.js";

/** All versions that a table may keep. */
const ALL = 2 ** 31 - 1;

/** What channels of a consumer have in common. */
export interface Source {
  readonly client: Client;
  readonly db: Rows;
  readonly store: GroupStore;
  readonly group: GroupRow;
  /** The names of the table's key columns. */
  readonly keys: readonly string[];
  /** The id of the consumer. */
  readonly self: string;
  /** Records of a batch at most. */
  readonly limit: number;
}

/** What was read. */
export interface Reading {
  readonly phase: "BaseData" | "Stream";
  readonly records: readonly ConsumerRecord[];
  /** The place behind them. */
  readonly behind: Place;
  /** Whether there may be more at once. */
  readonly more: boolean;
}

const isEnd = ({ base, iterator }: Place): boolean => base === undefined && iterator === null;

/** A row as the put of all its versions. */
function recordOf({ primaryKey, columns, columnNames }: Row): ConsumerRecord {
  const cells = columnNames.flatMap((name) => columns[name].map(({ value, version }): ChangedCell => ({ op: "PUT", name, version, value })));
  return { type: "PUT", primaryKey, cells, original: {}, timestamp: 0, sequence: 0 };
}

/** The error of a group whose records are gone. */
export function expiredPlace({ tableName, group }: GroupRow, cause: unknown): Error {
  // The rows of an account's table come by its own entry alone.
  const again = isOfAccount(tableName)
    ? "Note the time, read the table, and begin again with that time as 'from'."
    : 'Begin again: the type "BaseAndStream" reads the table first.';
  return failure(
    "OTSTunnelExpired",
    400,
    `The place of group '${group}' in the changes of table '${tableName}' has expired: records behind it are gone.`,
    `Delete the group, db.consumer({ tableName, group }).delete(). ${again}`,
    cause,
  );
}

/** See the top of the file. */
export class Channel {
  /** The place behind what was delivered. */
  place: Place;
  /** When it was read last and there was no more; `undefined`: there may be more. */
  idle: number | undefined;
  /** Whether another consumer has it, or may have it. */
  lost = false;
  /** When its consumer began to give it back. */
  closing: number | undefined;
  /** Batches that were delivered, and those whose end is stored. */
  private delivered = 0;
  private stored = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly source: Source,
    private row: ChannelRow,
  ) {
    this.place = row;
  }

  get id(): string {
    return this.row.id;
  }

  get version(): number {
    return this.row.version;
  }

  /** Whether it was read to its end. */
  get ended(): boolean {
    return isEnd(this.place);
  }

  /** Whether all that was delivered is stored. */
  get settled(): boolean {
    return this.stored === this.delivered;
  }

  /** Reads what is behind its place. */
  read(signal: AbortSignal): Promise<Reading> {
    return again(() => this.readOnce(signal));
  }

  private async readOnce(signal: AbortSignal): Promise<Reading> {
    const { client, db, keys, limit, group } = this.source;
    const { base, iterator } = this.place;
    if (base !== undefined) {
      const { before } = this.row;
      const start = Object.fromEntries(keys.map((name, i) => [name, base[i] ?? INF_MIN])) as RangeKey;
      const end = Object.fromEntries(keys.map((name, i) => [name, before === null ? INF_MAX : i === 0 ? before : INF_MIN])) as RangeKey;
      const { rows, nextStartPrimaryKey: next } = await db.getRange({ tableName: group.tableName, start, end, limit, maxVersions: ALL, signal });
      const behind: Place = { base: next === null ? undefined : keys.map((name) => next[name] as KeyValue), iterator };
      return { phase: "BaseData", records: rows.map(recordOf), behind, more: !isEnd(behind) };
    }
    try {
      const { records, nextShardIterator, mayMoreRecord } = await getStreamRecord(client, { shardIterator: iterator!, limit, signal });
      return { phase: "Stream", records, behind: { base: undefined, iterator: nextShardIterator }, more: mayMoreRecord || records.length > 0 };
    } catch (error) {
      if (hasCode(error, "OTSTrimmedDataAccess") || hasCode(error, "OTSObjectNotExist")) throw expiredPlace(group, error);
      throw error;
    }
  }

  /** Notes what was read, and when. It becomes a batch if it has records; returns its number. */
  take({ records, behind, more }: Reading, now: number): number {
    this.place = behind;
    this.idle = more ? undefined : now;
    if (records.length > 0) this.delivered += 1;
    return this.delivered;
  }

  /** Does one thing after another. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work, work);
    this.last = done.catch(() => {});
    return done;
  }

  /** Writes its row, unless it was taken. */
  private async write(change: Partial<ChannelRow>): Promise<void> {
    const { store, group, self } = this.source;
    for (let tries = 0; !this.lost && tries < 3; tries++) {
      const row = { ...this.row, ...change, seq: this.row.seq + 1 };
      if (await store.store(group.id, row)) {
        this.row = row;
        return;
      }
      // A write of its own whose answer was lost may have changed the number: this one, or an earlier one.
      const found = await store.channel(group.id, row.id);
      if (found?.owner !== self || found.version !== this.row.version) break;
      this.row = found;
    }
    this.lost = true;
    throw failure(
      "OTSSequenceNumberNotMatch",
      400,
      `The checkpoint of channel '${this.id}' of group '${group.group}' is refused: this consumer does not have the channel any more.`,
      "Another consumer gets these records again. This one may go on with its other channels.",
    );
  }

  private async storePlace(place: Place): Promise<void> {
    const { base, iterator } = place;
    await this.write({ base, iterator, time: Date.now(), ...(isEnd(place) ? { state: "TERMINATED" } : {}) });
  }

  /** Stores that the batches up to this one are done. */
  checkpoint(batch: number, behind: Place): Promise<void> {
    return this.inTurn(async () => {
      if (batch <= this.stored) return;
      await this.storePlace(batch === this.delivered ? this.place : behind);
      this.stored = batch;
    });
  }

  /** Stores the ends that no batch stores: of the full part, and of the channel. Returns whether it is at its end for good. */
  finish(): Promise<boolean> {
    return this.inTurn(async () => {
      const passed = this.row.base !== undefined && this.place.base === undefined;
      if (this.settled && !this.lost && this.row.state !== "TERMINATED" && (this.ended || passed)) await this.storePlace(this.place);
      return this.row.state === "TERMINATED";
    });
  }

  /** Tells that it is about to be given back. */
  close(now: number): Promise<void> {
    this.closing ??= now;
    return this.inTurn(() => this.write({ state: "CLOSING" }));
  }

  /** Gives it back. */
  release(): Promise<void> {
    return this.inTurn(async () => {
      if (!this.lost && this.row.state !== "TERMINATED") await this.write({ state: "CLOSE", owner: "" });
      this.lost = true;
    });
  }
}
