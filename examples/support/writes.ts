/** Random writes of every kind, for the tests of the examples. */

import { type Attributes, type Database, open } from "tabstore";

/** A small generator, so that a failure can be seen again: a whole number from 0 to below `below`. */
export function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * below);
  };
}

/** The table of the tests. */
export const TABLE = "thing";

const WORDS = ["Apple", "apricot", "blue", "bread", "cherry", "O’Brien", "été", "green", "Über", "yellow", "東京", "zebra"];

/** A store in memory with a table and a stream. Its partitions are small, so they are cut while it is written. */
export async function openThings(maxVersions: number, begun = 0, originColumns: readonly string[] = []): Promise<Database> {
  const db = await open("things", {
    storage: "memory",
    memtableBytes: 1 << 20,
    partitions: { splitBytes: 20_000, mergeBytes: 0 },
    clock: { now: 1_700_000_000_000 },
  });
  await db.createTable({
    tableName: TABLE,
    maxVersions,
    primaryKey: [
      { name: "kind", type: "STRING" },
      { name: "id", type: "INTEGER" },
    ],
  });
  // Some rows are older than the stream.
  for (let id = 0; id < begun; id++)
    await db.putRow({ tableName: TABLE, primaryKey: { kind: `k${id % 3}`, id }, attributes: { group: "old", amount: id, title: "An old apple" } });
  await db.updateTable({ tableName: TABLE, stream: { enabled: true, expirationHours: 1, originColumns } });
  return db;
}

/** Makes random writes. With `versions` some of them delete versions. */
export async function write(db: Database, below: (limit: number) => number, count: number, { versions = false } = {}): Promise<void> {
  const tableName = TABLE;
  const key = (kind = below(5)) => ({ kind: `k${kind}`, id: below(40) === 0 ? 2n ** 60n + BigInt(below(3)) : below(60) });
  const words = (most: number): string => Array.from({ length: 1 + below(most) }, () => WORDS[below(WORDS.length)]).join(" ");
  const attributes = (): Attributes => ({
    ...(below(5) === 0 ? {} : { group: ["red", "green", "", "__proto__"][below(4)] ?? "" }),
    ...(below(4) === 0 ? {} : { amount: below(1000) - 500 }),
    ...(below(4) === 0 ? {} : { title: words(3) }),
    ...(below(3) === 0 ? { text: words(40), bytes: new Uint8Array([below(256)]), yes: below(2) === 1 } : {}),
  });
  for (let left = count; left > 0; left--) {
    const primaryKey = key();
    switch (below(versions ? 10 : 9)) {
      case 0:
      case 1:
        await db.putRow({ tableName, primaryKey, attributes: attributes() });
        break;
      case 2:
        await db.updateRow({ tableName, primaryKey, put: attributes(), deleteColumns: ["missing"] });
        break;
      case 3:
        await db.updateRow({ tableName, primaryKey, deleteColumns: ["group", "amount", "title"].slice(below(3)) });
        break;
      case 4:
        await db.deleteRow({ tableName, primaryKey });
        break;
      case 5: {
        const rows = Array.from({ length: 1 + below(20) }, () => key(primaryKey.kind.length % 5));
        const unique = [...new Map(rows.map((one) => [String(one.id), one])).values()];
        await db.batchWriteRow(
          unique.map((one) =>
            below(3) === 0 ? { tableName, delete: { primaryKey: one } } : { tableName, put: { primaryKey: one, attributes: attributes() } },
          ),
          { atomic: below(2) === 0 },
        );
        break;
      }
      case 6: {
        const transaction = await db.startLocalTransaction({ tableName, partitionKey: { kind: primaryKey.kind } });
        for (let rows = below(5); rows >= 0; rows--)
          await transaction.putRow({ tableName, primaryKey: { ...primaryKey, id: below(60) }, attributes: attributes() });
        await transaction.deleteRow({ tableName, primaryKey });
        await (below(4) === 0 ? transaction.abort() : transaction.commit());
        break;
      }
      case 7: {
        const writer = db.writer(tableName);
        for (let rows = below(200); rows >= 0; rows--) await writer.put({ primaryKey: { kind: "loaded", id: below(10_000) }, attributes: attributes() });
        await writer.close();
        break;
      }
      case 8:
        if (below(10) === 0) {
          await db.flush();
          await db.compact();
        }
        break;
      default: {
        const { row } = await db.getRow({ tableName, primaryKey });
        const version = row?.version("title");
        if (version !== undefined) await db.updateRow({ tableName, primaryKey, deleteVersions: { title: [version] } });
      }
    }
  }
}

/**
 * Runs a follower again and again while the table is written, and stops it at random moments; at last until `isRight` holds.
 *
 * @param follower gives something after each step; it is asked to go on where it has stopped.
 */
export async function restarted(
  db: Database,
  seed: number,
  options: { versions?: boolean },
  follower: (signal: AbortSignal) => AsyncIterable<unknown>,
  isRight: () => Promise<boolean>,
): Promise<void> {
  const below = random(seed);
  const stop = new Error("stop");
  const run = async (steps: number, signal: AbortSignal): Promise<void> => {
    try {
      for await (const _ of follower(signal)) if (--steps === 0) break;
    } catch (error) {
      if (error !== stop) throw error;
    }
  };
  for (let round = 0; round < 8; round++) {
    // It is ended by a break, or by the signal while it waits, reads or stores.
    const control = new AbortController();
    const running = run(below(2) === 0 ? 1 + below(5) : Infinity, control.signal);
    await write(db, below, 5 + below(25), options);
    if (below(2) === 0) await new Promise((resolve) => setTimeout(resolve, below(30)));
    control.abort(stop);
    await running;
    await write(db, below, below(15), options);
  }
  const control = new AbortController();
  const end = Date.now() + 20_000;
  const check = (async () => {
    while (!(await isRight()) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
    control.abort(stop);
  })();
  await run(Infinity, control.signal);
  await check;
}
