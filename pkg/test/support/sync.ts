/** Two databases for tests of copies, calls that fail on the way to them, and what is in a table. */

import assert from "node:assert/strict";

import { type Columns, columnsOf, keyText } from "../../src/sync/cells.js";
import type { Change, Database, TabStoreError } from "../../src/index.js";
import { type SyncJob, type SyncOptions, syncTable } from "../../src/sync/index.js";
import type { OpenOptions } from "../../src/types/rows.js";
import { load, open } from "./package.js";

/** All versions that a table may keep. */
export const ALL = 2 ** 31 - 1;
/** The largest offset of versions. */
export const ANY_OFFSET = 9_223_372_036_854;

/** How a call fails: before it is done, or after it. `"dead"`: this call and all others, as if the program had ended. */
export type Fault = "before" | "after" | "dead";

const failure = async (code: string, retryable: boolean, message: string): Promise<TabStoreError> => {
  const { TabStoreError: Failure } = await load();
  return new Failure({ code, status: 503, retryable, message });
};

/** The calls of a database, on a way that may be cut. `fault` is asked before each call. */
export function onWay(db: Database, fault: (call: string) => Fault | undefined): { readonly way: Database; revive(): void } {
  let dead = false;
  const call = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const what = dead ? "dead" : fault(name);
    if (what === "dead") dead = true;
    if (dead) throw await failure("Closed", false, `The way is closed (${name}).`);
    if (what === "before") throw await failure("Unavailable", true, `The way is cut before ${name}.`);
    const done = await work();
    if (what === "after") throw await failure("Unavailable", true, `The way is cut after ${name}.`);
    return done;
  };
  const changes: Database["changes"] = (request) => {
    const source = db.changes(request);
    const reader: AsyncIterableIterator<Change> = {
      next: () => call("changes", () => source.next()),
      return: () => source.return!(),
      [Symbol.asyncIterator]: () => reader,
    };
    return reader;
  };
  const way = new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "changes") return changes;
      // By a wrong call of `writer` an entry learns the class of the errors.
      if (typeof value !== "function" || name === "writer") return value;
      return (...args: unknown[]) => call(String(name), async () => (value as (...args: unknown[]) => unknown).apply(target, args));
    },
  });
  return { way, revive: () => void (dead = false) };
}

/** All cells of a table, as texts. */
export async function dump(db: Database, tableName: string): Promise<string[]> {
  const { primaryKey } = await db.describeTable(tableName);
  const lines: string[] = [];
  for await (const row of db.scan({ tableName, maxVersions: ALL })) {
    const key = keyText(primaryKey, row.primaryKey);
    lines.push(key, ...linesOf(columnsOf(row)).map((line) => `${key} ${line}`));
  }
  return lines;
}

const linesOf = (columns: Columns): string[] =>
  [...columns].flatMap(([name, versions]) =>
    [...versions].map(([version, { type, value }]) => `${name}@${version} ${type} ${Object.is(value, -0) ? "-0" : String(value)}`),
  );

/** Checks that a table has the same cells on both sides; gives their number of lines. */
export async function assertSame(from: Database, to: Database, tableName = "t"): Promise<number> {
  const [a, b] = [await dump(from, tableName), await dump(to, tableName)];
  assert.deepEqual(b, a);
  return a.length;
}

/** The steps of a test, on two databases in memory that are closed behind them. */
export const onTwo =
  (body: (from: Database, to: Database) => Promise<void>, options: OpenOptions = {}, other: OpenOptions = options) =>
  async (): Promise<void> => {
    const [from, to] = [await open(options), await open(other)];
    try {
      await body(from, to);
    } finally {
      await from.close();
      await to.close();
    }
  };

/** The least waits between two tries. */
export const FAST = { minDelay: 1, maxDelay: 2 };

/** Starts a job that tries again fast, does steps beside it, and stops it. */
export async function during(options: Omit<SyncOptions, "tableName"> & { readonly tableName?: string }, body: (job: SyncJob) => Promise<void>): Promise<void> {
  const job = syncTable({ tableName: "t", retry: FAST, ...options });
  try {
    await body(job);
  } finally {
    await job.stop();
  }
}
