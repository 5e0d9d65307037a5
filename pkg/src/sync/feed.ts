/** The changes of a table, read ahead, with the places behind them. */

import type { Change, Database, KeyColumn, PrimaryKey, TabStoreError } from "../index.js";
import { keyText } from "./cells.js";
import { signatureOf } from "./plan.js";

/** Milliseconds after which a write of the job whose record has not come was not done. */
const FORGET = 60_000;

/** A write of the job whose record has not been passed yet. */
export interface Expected {
  readonly signature: string;
  /** The digest of its row. */
  readonly row: string;
  /** When it was noted. */
  readonly time: number;
  /** Whether its record was read. */
  isFound: boolean;
}

/** A change that was read. */
export interface Item {
  readonly change: Change;
  readonly row: string;
  readonly key: PrimaryKey;
  /** The write of the job that it records, if it does. */
  readonly own: Expected | undefined;
}

/** The place behind all changes of a table, in the form of the tokens of `changes`. It does not change if nothing changes. */
export async function latest(db: Database, tableName: string, signal: AbortSignal): Promise<string> {
  const [{ streamId }] = await db.listStream({ tableName, signal });
  const places: Record<string, readonly [string, number] | null> = {};
  for (let next: string | null | undefined; next !== null; ) {
    const page = await db.describeStream({ streamId, inclusiveStartShardId: next, signal });
    for (const { shardId, closed } of page.shards)
      places[shardId] = closed ? null : [await db.getShardIterator({ streamId, shardId, latest: true, signal }), 0];
    next = page.nextShardId;
  }
  return JSON.stringify([streamId, places]);
}

/** See the top of the file. */
export class Feed {
  /** The changes behind `place`, oldest first. */
  items: Item[] = [];
  /** Whether there were no more when it was read last. */
  isDrained = false;
  /** Whether changes behind its place have expired. */
  isExpired = false;
  private readonly expected: Expected[];

  /** `place`: the token behind what was done. `own`: the writes of the job whose records come behind it. */
  constructor(
    private readonly db: Database,
    private readonly tableName: string,
    private readonly columns: readonly KeyColumn[],
    public place: string,
    own: readonly (readonly [signature: string, row: string])[],
    private readonly now: () => number,
    private readonly signal: AbortSignal,
  ) {
    const time = now();
    this.expected = own.map(([signature, row]) => ({ signature, row, time, isFound: false }));
  }

  private get end(): string {
    return this.items.at(-1)?.change.token ?? this.place;
  }

  /** Notes that changes have expired. */
  private failed(error: unknown): never {
    this.isExpired = (error as Partial<TabStoreError>).code === "OTSTrimmedDataAccess";
    throw error;
  }

  /** Reads on until so many changes are there, or there are no more. */
  async fill(limit: number): Promise<void> {
    this.isDrained = false;
    if (this.items.length >= limit) return;
    try {
      for await (const change of this.db.changes({ tableName: this.tableName, from: this.end, once: true, signal: this.signal })) {
        this.items.push(this.itemOf(change));
        if (this.items.length >= limit) return;
      }
    } catch (error) {
      this.failed(error);
    }
    this.isDrained = true;
    this.forgetOld();
  }

  private forgetOld(): void {
    const oldest = this.now() - FORGET;
    for (let i = this.expected.length - 1; i >= 0; i--) {
      const { isFound, time } = this.expected[i];
      if (!isFound && time < oldest) this.expected.splice(i, 1);
    }
  }

  private itemOf(change: Change): Item {
    const { primaryKey: key } = change;
    const signature = this.expected.length === 0 ? "" : signatureOf(this.columns, change);
    const own = this.expected.find((one) => !one.isFound && one.signature === signature);
    if (own !== undefined) own.isFound = true;
    return { change, key, row: keyText(this.columns, key), own };
  }

  /** Waits until there may be more. */
  async wait(signal: AbortSignal): Promise<void> {
    const changes = this.db.changes({ tableName: this.tableName, from: this.end, signal });
    try {
      await changes.next();
    } catch (error) {
      this.failed(error);
    } finally {
      await changes.return?.();
    }
  }

  /** Notes a write of the job, before it is done. Gives what {@link forget} takes. */
  expect(signature: string, row: string): Expected {
    const expected = { signature, row, time: this.now(), isFound: false };
    this.expected.push(expected);
    return expected;
  }

  /** A write was surely not done. */
  forget(expected: Expected): void {
    const at = this.expected.indexOf(expected);
    if (!expected.isFound && at >= 0) this.expected.splice(at, 1);
  }

  /** The digests of the rows to which the job may have written without that its record was read. */
  get uncertain(): Set<string> {
    return new Set(this.expected.filter(({ isFound }) => !isFound).map(({ row }) => row));
  }

  /** What a later run needs to tell the writes of the job behind `place`. */
  get own(): (readonly [signature: string, row: string])[] {
    return this.expected.map(({ signature, row }) => [signature, row]);
  }

  /** The first changes are done: the place is behind them. */
  pass(count: number): void {
    if (count === 0) return;
    this.place = this.items[count - 1].change.token;
    for (const { own } of this.items.splice(0, count)) if (own !== undefined) this.expected.splice(this.expected.indexOf(own), 1);
  }
}
