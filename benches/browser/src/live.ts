/**
 * Live queries in this page, on this package and on Dexie: how soon a write is told, and what they cost a write. And what
 * a change stream costs a write. `lib/live.mjs` controls it.
 */

import { Dexie, type EntityTable } from "dexie";
import { type Database, deleteInstance, open } from "tabstore";
import { random, row, rows, type BenchRow } from "./data.js";

/** What the measurements ask of a database. Every write resolves when it is stored, with relaxed durability. */
interface Store {
  open(name: string, count: number): Promise<void>;
  remove(name: string): Promise<void>;
  put(row: BenchRow): Promise<unknown>;
  /** Watches the rows from `first` on. The listener gets all of them, at once and after each change. Returns its end. */
  watch(first: number, count: number, listener: (rows: readonly { readonly id: number; readonly count: number }[]) => void): () => void;
}

const attributesOf = ({ id: _, ...attributes }: BenchRow) => attributes;

/** Tables: two with the same rows, one of which has a stream. */
const [PLAIN, STREAMED] = ["plain", "streamed"];

function ours() {
  let db: Database;
  const store: Store = {
    async open(name, count) {
      db = await open(name, { storage: "indexeddb" });
      const primaryKey = [{ name: "id", type: "INTEGER" }] as const;
      await db.createTable({ tableName: PLAIN, primaryKey });
      await db.createTable({ tableName: STREAMED, primaryKey, stream: { enabled: true, expirationHours: 24 } });
      await load(PLAIN, 0, count);
      await db.flush();
    },
    async remove(name) {
      await db.close();
      await deleteInstance(name);
    },
    put: (fresh) => put(PLAIN, fresh),
    watch(first, count, listener) {
      const query = db.watch({ tableName: PLAIN, start: { id: first }, end: { id: first + count } });
      return query.subscribe(() => {
        const { rows: found = [], error } = query.getSnapshot();
        if (error !== undefined) throw error;
        listener(found.map((one) => ({ id: one.primaryKey.id as number, count: one.get("count") as number })));
      });
    },
  };
  const put = (tableName: string, fresh: BenchRow) => db.putRow({ tableName, primaryKey: { id: fresh.id }, attributes: attributesOf(fresh) });
  /** In slices, so that the time to make rows does not count. */
  async function load(tableName: string, first: number, count: number): Promise<number> {
    let ms = 0;
    const writer = db.writer(tableName);
    for (let from = first; from < first + count; from += 10_000) {
      const slice = rows(from, Math.min(10_000, first + count - from));
      const start = performance.now();
      for (const fresh of slice) {
        const wait = writer.put({ primaryKey: { id: fresh.id }, attributes: attributesOf(fresh) });
        if (wait) await wait;
      }
      ms += performance.now() - start;
    }
    const start = performance.now();
    await writer.close();
    return ((ms + performance.now() - start) * 1000) / count;
  }
  return { ...store, load, putIn: put, flush: () => db.flush(), bytes: async () => (await db.storage()).live };
}

function dexie(): Store {
  let db: Dexie & { rows: EntityTable<BenchRow, "id"> };
  return {
    async open(name, count) {
      db = new Dexie(name, { chromeTransactionDurability: "relaxed" }) as typeof db;
      db.version(1).stores({ rows: "id" });
      await db.open();
      await db.rows.bulkPut(rows(0, count));
    },
    async remove(name) {
      db.close();
      await Dexie.delete(name);
    },
    put: (fresh) => db.rows.put(fresh) as Promise<unknown>,
    watch(first, count, listener) {
      const query = Dexie.liveQuery(() =>
        db.rows
          .where("id")
          .between(first, first + count)
          .toArray(),
      );
      const subscription = query.subscribe({
        next: listener,
        error: (error) => {
          throw error;
        },
      });
      return () => subscription.unsubscribe();
    },
  };
}

const STORES = { tabstore: ours(), dexie: dexie() };
type Name = keyof typeof STORES;

const each = (start: number, operations: number) => ((performance.now() - start) * 1000) / operations;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** The number of the next write: each writes a value that no other one wrote. */
let writes = 1_000_000;
const fresh = (id: number): BenchRow => ({ ...row(id), count: ++writes });

/** The functions that `lib/live.mjs` calls. */
const live = {
  open: (name: Name, database: string, count: number) => STORES[name].open(database, count),
  remove: (name: Name, database: string) => STORES[name].remove(database),

  /**
   * The ms to each write's notification, from its call and from its answer; 0 if the notification came first. One query of
   * `watched` rows, whose middle row is written.
   */
  async delays(name: Name, count: number, watched: number, operations: number): Promise<{ called: number[]; answered: number[] }> {
    const store = STORES[name];
    const first = (count - watched) >> 1;
    const id = first + (watched >> 1);
    let seen: ((value: number) => void) | undefined;
    const end = store.watch(first, watched, (all) => {
      if (all.length !== watched) throw new Error(`${all.length} rows are told of ${watched}`);
      seen?.(all.find((one) => one.id === id)!.count);
    });
    const took = { called: [] as number[], answered: [] as number[] };
    for (let n = -20; n < operations; n++) {
      await pause(2);
      const one = fresh(id);
      let told = 0;
      const notified = new Promise<void>((resolve) => {
        seen = (value) => {
          if (value !== one.count) return;
          told = performance.now();
          resolve();
        };
      });
      const called = performance.now();
      await store.put(one);
      const answered = performance.now();
      await notified;
      // The first ones warm code.
      if (n < 0) continue;
      took.called.push(told - called);
      took.answered.push(Math.max(0, told - answered));
    }
    end();
    return took;
  },

  /** Microseconds a put, beside `queries` live queries of `watched` rows each. `touched`: the puts write their rows; else, rows behind them. */
  async puts(
    name: Name,
    count: number,
    queries: number,
    watched: number,
    touched: boolean,
    operations: number,
    inFlight: boolean,
    seed: number,
  ): Promise<number> {
    const store = STORES[name];
    const space = Math.min(count >> 1, Math.max(1, queries) * watched);
    let begun = 0;
    let told = 0;
    const last = new Map<number, number>();
    const ends = Array.from({ length: queries }, (_, query) => {
      let isFirst = true;
      return store.watch((query * watched) % space, watched, (all) => {
        if (isFirst) begun++;
        else told++;
        isFirst = false;
        for (const { id, count } of all) last.set(id, count);
      });
    });
    while (begun < queries) await pause(5);
    const next = random(seed);
    const from = touched ? 0 : count - space;
    const all = Array.from({ length: operations }, () => fresh(from + (next() % space)));
    const start = performance.now();
    if (inFlight) await Promise.all(all.map((one) => store.put(one)));
    else for (const one of all) await store.put(one);
    const time = each(start, operations);
    // Each query ends with what was written, whatever it was told between.
    const wanted = new Map(all.map(({ id, count }) => [id, count]));
    const isTold = () => [...wanted].every(([id, count]) => last.get(id) === count);
    for (let waited = 0; touched && queries > 0 && !isTold(); waited += 5) {
      if (waited > 10_000) throw new Error("live queries were not told of all writes");
      await pause(5);
    }
    if (!touched && told > 0) throw new Error("live queries were told of rows that they do not watch");
    ends.forEach((end) => end());
    return time;
  },

  /** Microseconds a put into the table with or without a stream. */
  async streamedPuts(isStreamed: boolean, operations: number, seed: number): Promise<number> {
    const next = random(seed);
    const all = Array.from({ length: operations }, () => fresh(next() % 1_000_000));
    const start = performance.now();
    await Promise.all(all.map((one) => STORES.tabstore.putIn(isStreamed ? STREAMED : PLAIN, one)));
    const time = each(start, operations);
    await STORES.tabstore.flush();
    return time;
  },

  /** Microseconds a row of a load into the table with or without a stream, and the bytes that it left. */
  async streamedLoad(isStreamed: boolean, first: number, operations: number): Promise<{ us: number; bytes: number }> {
    await STORES.tabstore.flush();
    const before = await STORES.tabstore.bytes();
    const us = await STORES.tabstore.load(isStreamed ? STREAMED : PLAIN, first, operations);
    await STORES.tabstore.flush();
    return { us, bytes: ((await STORES.tabstore.bytes()) - before) / operations };
  },
};

/** The functions of `globalThis.live`. */
export type LiveTools = typeof live;
(globalThis as unknown as { live: LiveTools }).live = live;
