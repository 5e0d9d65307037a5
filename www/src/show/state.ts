/** The show's instance, its feed and its readings. */

import { batch, signal } from "@preact/signals";
import { type Database, deleteInstance, open, type OpenOptions, type StoreDescription } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { TOUR } from "../lib/route.ts";
import { Feed } from "./feed.ts";
import { forgetMark, keepMark, readMark } from "./mark.ts";
import { type Balance, balance, TABLE } from "./rows.ts";
import { addEvent, NOTHING_DONE, type WorkDone } from "./steps.ts";

/** Small, so that within a minute memtables are flushed, segments merged and a partition split. */
const SIZES: OpenOptions = { integers: "bigint", memtableBytes: 64 * 1024, partitions: { splitBytes: 48 * 1024, mergeBytes: 8 * 1024, splitOperations: 0 } };
/** How often to look into the store. */
const PERIOD_MS = 250;

/** What is known of the show. */
export interface Show {
  readonly db: Database;
  readonly feed: Feed;
  readonly acknowledged: number;
  /** Rows acknowledged in the last second; nothing until a second has passed. */
  readonly perSecond?: number;
  readonly reading?: StoreDescription;
  /** Bytes that a memtable may have. */
  readonly budget: number;
  readonly done: WorkDone;
  /** What was found after the last kill, and how long the opening took. */
  readonly balance?: Balance & { readonly openMs: number };
}

/** The show, once it is open. */
export const show = signal<Show | undefined>(undefined);
/** Why it cannot go on. */
export const showError = signal<unknown>(undefined);

/** Opens the instance as a kill has left it, or a new one. A browser that keeps nothing has one in memory. */
async function openTour(isLeft: boolean): Promise<Database> {
  try {
    if (isLeft) return await open(TOUR, { ...SIZES, create: false });
    await deleteInstance(TOUR).catch((error: unknown) => {
      if (asError(error).code !== "OTSObjectNotExist") throw error;
    });
    return await open(TOUR, SIZES);
  } catch (error) {
    if (asError(error).code === "Unavailable") return open(TOUR, { ...SIZES, storage: "memory" });
    if (isLeft && asError(error).code === "OTSObjectNotExist") return openTour(false);
    throw error;
  }
}

/** Reads all rows, and compares them with what was acknowledged. */
async function count(db: Database, acknowledged: number): Promise<Balance> {
  const rows = [];
  for await (const { primaryKey, columns } of db.scan({ tableName: TABLE, columnsToGet: ["write"] })) {
    rows.push({ id: primaryKey["id"], write: columns["write"]?.[0]?.value });
  }
  return balance(acknowledged, rows);
}

function update(db: Database, change: Partial<Show>): void {
  const now = show.peek();
  if (now?.db === db) show.value = { ...now, ...change };
}

/** Looks into the store again and again. */
function watch(db: Database): () => void {
  let position = 0;
  let recent: { readonly at: number; readonly rows: number }[] = [];
  let timer: ReturnType<typeof setTimeout>;
  let isOver = false;
  const look = async () => {
    const [reading, told, { memtable }] = await Promise.all([db.segments(), db.getWorkEvents({ position }), db.metrics()]);
    position = told.position;
    const now = show.peek();
    if (now?.db !== db) return;
    const at = performance.now();
    recent = [...recent.filter((one) => one.at > at - 1000 - PERIOD_MS), { at, rows: now.acknowledged }];
    const first = recent[0];
    const span = at - (first?.at ?? at);
    const perSecond = span >= 900 && first !== undefined ? { perSecond: ((now.acknowledged - first.rows) * 1000) / span } : {};
    update(db, { reading, budget: memtable.budget, done: told.events.reduce(addEvent, now.done), ...perSecond });
  };
  const turn = async () => {
    try {
      if (!document.hidden) await look();
    } catch (error) {
      if (!isOver) showError.value = error;
    }
    if (!isOver) timer = setTimeout(() => void turn(), PERIOD_MS);
  };
  void turn();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Begins the show, or goes on behind a kill. Gives the function that ends it. */
export function beginShow(): () => void {
  let isOver = false;
  let end = () => {};
  const begin = async () => {
    const mark = readMark();
    const began = performance.now();
    const db = await openTour(mark !== undefined);
    const openMs = performance.now() - began;
    if (isOver) return db.close();
    const hasTable = (await db.listTable()).includes(TABLE);
    if (!hasTable) await db.createTable({ tableName: TABLE, primaryKey: [{ name: "id", type: "STRING" }] });
    // Events are collected from the first call on.
    await db.getWorkEvents();
    const left = mark !== undefined && db.persistence !== "memory" ? { ...(await count(db, mark)), openMs } : undefined;
    const acknowledged = left === undefined ? 0 : left.acknowledged;
    if (isOver) return db.close();
    const feed = new Feed(db, acknowledged, {
      onAcknowledged: (writes) => {
        keepMark(writes);
        update(db, { acknowledged: writes });
      },
      onError: (error) => {
        showError.value = error;
      },
    });
    batch(() => {
      showError.value = undefined;
      show.value = { db, feed, acknowledged, budget: 1, done: NOTHING_DONE, ...(left === undefined ? {} : { balance: left }) };
    });
    const stop = watch(db);
    void feed.run();
    end = () => {
      feed.stop();
      stop();
      void db.close().catch(() => {});
    };
  };
  begin().catch((error: unknown) => {
    if (!isOver) showError.value = error;
  });
  return () => {
    isOver = true;
    show.value = undefined;
    end();
  };
}

/** Ends the page while rows are under way, without a word to the engine. The page that follows counts what is there. */
export function killPage({ feed }: Show): void {
  feed.isHeld = false;
  feed.onSent = () => location.reload();
}

/** Begins anew, with an empty instance. */
export function forgetShow(): void {
  forgetMark();
}
