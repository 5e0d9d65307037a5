/**
 * What the calls of one connection share: the order of operations on one row, the key columns of tables, and what is under way.
 *
 * The service answers requests in any order. So an operation waits here for earlier ones of this connection on its rows, unless both
 * only read.
 */

import { Waiting } from "../client/waiting.js";
import { lookAtPrototype } from "../codec/check.js";
import { abortReason, signalOf, unlessAborted } from "../client/signals.js";
import { local, TabStoreError } from "../types/errors.js";
import type { CallOptions } from "../types/rows.js";
import { KeyColumns, Nothing, TableName } from "./messages.js";
import type { Fields, Message } from "./protobuf.js";
import type { KeyNames } from "./requests.js";
import type { Service } from "./service.js";

/** The operations on one row that are not over: the last one that writes, and those that read behind it. */
interface Lane {
  write: Promise<unknown> | undefined;
  readonly reads: Set<Promise<unknown>>;
}

/** What sends its rows before another call leaves: a writer. */
export interface Buffering {
  send(): void;
}

const sameNames = (a: KeyNames, b: KeyNames): boolean => a?.join("\n") === b?.join("\n");

/** One connection to an instance. */
export class Connection {
  /** Why no more calls are accepted. */
  closedBy: TabStoreError | undefined;
  /** Writers that hold rows. */
  readonly writers = new Set<Buffering>();
  /** Callers that wait for something else than the service, such as the source of an import. */
  readonly sources = new Waiting();
  private readonly lanes = new Map<string, Lane>();
  private readonly keys = new Map<string, Promise<KeyNames>>();
  private readonly underWay = new Set<Promise<unknown>>();

  /** `bigints` is the option `integers: "bigint"`. */
  constructor(
    readonly service: Service,
    readonly bigints: boolean,
  ) {}

  /**
   * Makes a call: `begin` reads its arguments at once, and gives what then asks the service. A call that `scans` is not waited for when
   * the connection is closed.
   */
  call<T>(options: CallOptions | undefined, begin: (signal: AbortSignal | undefined) => () => Promise<T>, scans = false): Promise<T> {
    let signal: AbortSignal | undefined;
    let work: Promise<T>;
    try {
      signal = signalOf(options);
      if (this.closedBy !== undefined) throw this.closedBy;
      if (signal?.aborted) throw abortReason(signal);
      for (const writer of [...this.writers]) writer.send();
      lookAtPrototype();
      work = begin(signal)();
    } catch (error) {
      return Promise.reject(error);
    }
    const answer = scans ? this.sources.unlessFailed(work) : this.expect(work);
    return unlessAborted(answer, signal);
  }

  /** Notes work that closing waits for. */
  expect<T>(work: Promise<T>): Promise<T> {
    const end = work.then(
      () => {},
      () => {},
    );
    this.underWay.add(end);
    void end.then(() => this.underWay.delete(end));
    return work;
  }

  /** Asks the service about something else than rows. */
  ask<Q extends Message, A extends Message>(
    operation: string,
    question: Q,
    request: Fields<Q>,
    answer: A,
    options: CallOptions | undefined,
  ): Promise<Fields<A>> {
    return this.call(options, (signal) => () => this.service.call(operation, question, request, answer, signal));
  }

  /** {@link ask}, where the answer is empty. */
  async tell<Q extends Message>(operation: string, question: Q, request: Fields<Q>, options: CallOptions | undefined): Promise<void> {
    await this.ask(operation, question, request, Nothing, options);
  }

  /** Does work behind earlier work on its rows, at once if there is none. */
  inOrder<T>(rows: readonly string[], writes: boolean, work: () => Promise<T>): Promise<T> {
    const own = new Set(rows);
    const before: Promise<unknown>[] = [];
    for (const row of own) {
      const lane = this.lanes.get(row);
      if (lane?.write !== undefined) before.push(lane.write);
      if (writes) before.push(...(lane?.reads ?? []));
    }
    const done = before.length === 0 ? work() : Promise.all(before).then(work);
    const end: Promise<unknown> = done.then(
      () => this.leave(own, end),
      () => this.leave(own, end),
    );
    for (const row of own) {
      const lane = this.lanes.get(row) ?? { write: undefined, reads: new Set() };
      this.lanes.set(row, lane);
      if (writes) {
        lane.write = end;
        lane.reads.clear();
      } else lane.reads.add(end);
    }
    return done;
  }

  private leave(rows: ReadonlySet<string>, end: Promise<unknown>): void {
    for (const row of rows) {
      const lane = this.lanes.get(row);
      if (lane === undefined) continue;
      if (lane.write === end) lane.write = undefined;
      lane.reads.delete(end);
      if (lane.write === undefined && lane.reads.size === 0) this.lanes.delete(row);
    }
  }

  /**
   * The names of a table's key columns in their order, asked for once. `undefined` for a table that is not there or that this access
   * key may not describe: then the keys are sent as they were given, and the service judges them.
   */
  keyNames(tableName: string, signal: AbortSignal | undefined): Promise<KeyNames> {
    const known = this.keys.get(tableName);
    if (known !== undefined) return unlessAborted(known, signal);
    const asked = this.describe(tableName).catch((error: unknown) => {
      this.forget(tableName);
      if (error instanceof TabStoreError && (error.code === "OTSObjectNotExist" || error.status === 403)) return undefined;
      throw error;
    });
    this.keys.set(tableName, asked);
    return unlessAborted(asked, signal);
  }

  /** Asks for the names of a table's key columns. */
  async describe(tableName: string): Promise<KeyNames> {
    const { meta } = await this.service.call("DescribeTable", TableName, { tableName }, KeyColumns, undefined);
    return meta?.columns?.map(({ name }) => name!);
  }

  /** The table may have changed. */
  forget(tableName: string): void {
    this.keys.delete(tableName);
  }

  /** Does work that needs the key columns of a table. If it is refused for its key, and they have changed, once more. */
  async withKeys<T>(tableName: string, signal: AbortSignal | undefined, work: (names: KeyNames) => Promise<T>): Promise<T> {
    const names = await this.keyNames(tableName, signal);
    try {
      return await work(names);
    } catch (error) {
      const { code } = error as Partial<TabStoreError>;
      if (code === "OTSInvalidPK" || code === "OTSObjectNotExist") this.forget(tableName);
      if (code !== "OTSInvalidPK") throw error;
      const now = await this.keyNames(tableName, signal);
      if (sameNames(names, now)) throw error;
      return work(now);
    }
  }

  /** Accepts no more calls, and waits for those under way except the reads of ranges. */
  async close(): Promise<void> {
    if (this.closedBy === undefined) {
      for (const writer of [...this.writers]) writer.send();
      this.closedBy = local("Closed", "The database is closed.");
      this.sources.fail(this.closedBy);
    }
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }
}
