/**
 * The rows of a table, and then those that change, for whoever keeps something made of them: a copy, a search index.
 *
 * The stream of the table says which rows have changed, and where to go on after a reload. The table says how they are now: a
 * row that has changed is read again. So it does not matter if a change is seen twice, or late, and any table can be followed,
 * whatever its versions are.
 */

import type { Change, Database, PrimaryKey, Row } from "tabstore";

/** How far a follower has come. Keep it beside what you make of the rows, and change both in one step. */
export interface Place {
  /** The changes that were seen: a token of {@link Database.changes}. */
  readonly token: string;
  /** The rows that were seen: none, those before a key, or all. */
  readonly scanned: PrimaryKey | "nothing" | "all";
}

/** What to do next. */
export interface Step {
  /** Whether to forget all rows first: this is the first step, or changes have expired that were never seen. */
  readonly anew: boolean;
  /** Rows as they are now. */
  readonly rows: readonly Row[];
  /** The keys of rows that are gone. */
  readonly gone: readonly PrimaryKey[];
  /** The place behind this step. */
  readonly place: Place;
}

/** A key as one text. */
export const textOf = (primaryKey: PrimaryKey): string =>
  JSON.stringify(Object.values(primaryKey), (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));

/** The beginning of a stream in which nothing has been seen. It does not tell later whether its first changes have expired. */
export const OLDEST = "oldest";

/** The token behind all changes that there are. */
export async function endOf(db: Database, tableName: string, signal?: AbortSignal): Promise<string> {
  let last: Change | undefined;
  for await (const change of db.changes({ tableName, once: true, signal })) last = change;
  return last?.token ?? OLDEST;
}

/** Changes, several at a time: those that come within some milliseconds. */
export async function* batches(changes: AsyncIterableIterator<Change>, most: number): AsyncGenerator<Change[], void> {
  const ask = () => {
    const next = changes.next();
    // It is awaited below, perhaps later than it fails.
    next.catch(() => {});
    return next;
  };
  try {
    for (let next = ask(); ; ) {
      const first = await next;
      if (first.done) return;
      const batch = [first.value];
      const pause = new Promise<undefined>((resolve) => setTimeout(resolve, 10));
      next = ask();
      while (batch.length < most) {
        const more = await Promise.race([next, pause]);
        if (more === undefined || more.done) break;
        batch.push(more.value);
        next = ask();
      }
      yield batch;
    }
  } finally {
    await changes.return?.();
  }
}

/** Whether changes have expired before they were seen. */
export const hasExpired = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === "OTSTrimmedDataAccess";

/** All rows of a table, then those that change, until `signal` or a `break` ends it. The table needs a stream. */
export async function* follow(db: Database, tableName: string, from?: Place, signal?: AbortSignal): AsyncGenerator<Step, void> {
  for (let begins = from; ; begins = undefined) {
    try {
      let anew = begins === undefined || begins.token === OLDEST;
      // The end of the stream comes first: what changes while the table is read is read again.
      let place: Place = anew || begins === undefined ? { token: await endOf(db, tableName, signal), scanned: "nothing" } : begins;
      while (place.scanned !== "all") {
        const start = place.scanned === "nothing" ? undefined : place.scanned;
        const { rows, nextStartPrimaryKey } = await db.getRange({ tableName, start, limit: 500, signal });
        place = { token: place.token, scanned: nextStartPrimaryKey ?? "all" };
        yield { anew, rows, gone: [], place };
        anew = false;
      }
      // 100 rows are the most that one call reads.
      for await (const changes of batches(db.changes({ tableName, from: place.token, signal }), 100)) {
        const keys = new Map(changes.map(({ primaryKey }) => [textOf(primaryKey), primaryKey]));
        const primaryKeys = [...keys.values()];
        const [results = []] = await db.batchGetRow([{ tableName, primaryKeys }], { signal });
        const rows = results.map((result) => {
          if (!result.ok) throw result.error;
          return result.row;
        });
        place = { token: changes.at(-1)?.token ?? place.token, scanned: "all" };
        const gone = primaryKeys.filter((_, at) => rows[at] === null);
        yield { anew, rows: rows.filter((row) => row !== null), gone, place };
      }
    } catch (error) {
      if (!hasExpired(error)) throw error;
    }
  }
}
