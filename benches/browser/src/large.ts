/** A worker with our package in it, on a table of any size. `lib/growth.mjs` and `lib/million.mjs` control it. */

import { type Database, type Metrics, open, type OpenOptions } from "tabstore";
import { type BenchRow, cheapRow, look, lookAll, random } from "./data.js";

const tableName = "large";
/** Keys of a call that reads many. */
const KEYS = 100;
/** Rows that are overwritten: one in this many. */
const OVERWRITTEN = 10;

let db: Database;
/** The rows from 0 on, twice apart, so that single puts find a place between them. */
let count = 0;
let overwritten = false;

const idOf = (place: number) => place * 2;
const expected = (place: number): BenchRow => cheapRow(idOf(place), overwritten && place % OVERWRITTEN === 3 ? 1 : 0);
const attributes = ({ name, city, note, score, count: number }: BenchRow) => ({ name, city, note, score, count: number });
/** Microseconds an operation since `start`. */
const each = (start: number, operations: number) => ((performance.now() - start) * 1000) / operations;

function expect(what: string, found: number, wanted: number): void {
  if (found !== wanted) throw new Error(`${what}: ${found} was read, ${wanted} was written`);
}

async function get(id: number): Promise<BenchRow> {
  const { row } = await db.getRow({ tableName, primaryKey: { id } });
  if (row === null) throw new Error(`row ${id} is missing`);
  return row.toObject() as unknown as BenchRow;
}

/** The requests of the page. Times are microseconds an operation unless they say otherwise. */
const tools = {
  /** Milliseconds of opening; of opening and reading a row, if there is one. */
  async open(name: string, options: OpenOptions, rows: number, wasOverwritten = false): Promise<number> {
    count = rows;
    overwritten = wasOverwritten;
    const place = Math.floor(rows * 0.618);
    const right = look(expected(place));
    const start = performance.now();
    db = await open(name, { worker: false, storage: "indexeddb", ...options });
    if (rows === 0) {
      await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
      return performance.now() - start;
    }
    const found = await get(idOf(place));
    const ms = performance.now() - start;
    expect("the first read", look(found), right);
    return ms;
  },
  close: () => db.close(),

  /** Loads the next rows through a writer. */
  async load(rows: number, maxBytesInFlight?: number): Promise<number> {
    cheapRow(0);
    const start = performance.now();
    const writer = db.writer(tableName, { maxBytesInFlight });
    for (const end = count + rows; count < end; count++) {
      const wait = writer.put({ primaryKey: { id: idOf(count) }, attributes: attributes(cheapRow(idOf(count))) });
      if (wait) await wait;
    }
    await writer.close();
    return each(start, rows);
  },
  /** Overwrites one row in ten, in no order. */
  async overwrite(maxBytesInFlight?: number): Promise<number> {
    const rows = Math.floor((count - 4) / OVERWRITTEN) + 1;
    const step = [7919, 7907].find((prime) => rows % prime !== 0)!;
    const start = performance.now();
    const writer = db.writer(tableName, { maxBytesInFlight });
    for (let i = 0; i < rows; i++) {
      const id = idOf(((i * step) % rows) * OVERWRITTEN + 3);
      const wait = writer.put({ primaryKey: { id }, attributes: attributes(cheapRow(id, 1)) });
      if (wait) await wait;
    }
    await writer.close();
    overwritten = true;
    return each(start, rows);
  },
  /** Single puts of new rows all over the table, which are deleted again without being timed. */
  async put(operations: number, inFlight: boolean, seed: number): Promise<number> {
    const next = random(seed);
    const ids = Array.from({ length: operations }, () => idOf(next() % count) + 1);
    const put = (id: number) => db.putRow({ tableName, primaryKey: { id }, attributes: attributes(cheapRow(id)) });
    const start = performance.now();
    if (inFlight) await Promise.all(ids.map(put));
    else for (const id of ids) await put(id);
    const time = each(start, operations);
    expect("a put", look(await get(ids[operations >> 1])), look(cheapRow(ids[operations >> 1])));
    await Promise.all([...new Set(ids)].map((id) => db.deleteRow({ tableName, primaryKey: { id } })));
    return time;
  },
  /** Random gets among `rows` rows from `first` on, the middle unless given; of all, if that is how many there are. */
  async get(operations: number, rows: number, seed: number, first = rows < count ? count >> 1 : 0): Promise<number> {
    const next = random(seed);
    const places = Array.from({ length: operations }, () => first + (next() % Math.min(rows, count - first)));
    let sum = 0;
    const start = performance.now();
    for (const place of places) sum += look(await get(idOf(place)));
    const time = each(start, operations);
    expect("gets", sum, lookAll(places.map(expected)));
    return time;
  },
  /** Random gets of 100 keys a call. */
  async getMany(calls: number, seed: number): Promise<number> {
    const next = random(seed);
    let sum = 0;
    let wanted = 0;
    let ms = 0;
    for (let i = 0; i < calls; i++) {
      const places = [...new Set(Array.from({ length: KEYS }, () => next() % count))];
      const start = performance.now();
      const [found] = await db.batchGetRow([{ tableName, primaryKeys: places.map((place) => ({ id: idOf(place) })) }]);
      for (const one of found) sum += look((one.row?.toObject() ?? {}) as unknown as BenchRow);
      ms += performance.now() - start;
      wanted += lookAll(places.map(expected));
    }
    expect("gets of many", sum, wanted);
    return (ms * 1000) / (calls * KEYS);
  },
  /** All rows or the first ones, each compared with its expected value. */
  async scan(rows = count): Promise<number> {
    let place = 0;
    let ms = 0;
    let start = performance.now();
    for await (const page of db.scanPages({ tableName, end: { id: idOf(rows) } })) {
      const all = page.map((row) => row.toObject() as unknown as BenchRow);
      let sum = lookAll(all);
      ms += performance.now() - start;
      for (const one of all) {
        const right = expected(place);
        if (one.id !== right.id) throw new Error(`the scan shows row ${one.id} in the place of ${right.id}`);
        sum -= look(right);
        place += 1;
      }
      expect(`the scan before row ${idOf(place)}`, sum, 0);
      start = performance.now();
    }
    expect("rows scanned", place, rows);
    return (ms * 1000) / rows;
  },
  /** Writes the memtable, and waits until the engine has no work left. */
  async settle(): Promise<void> {
    await db.flush();
    let last = "";
    for (let same = 0; same < 3; ) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const { segments, work, memtable } = await db.metrics();
      const now = JSON.stringify([segments, work, memtable]);
      same = now === last ? same + 1 : 0;
      last = now;
    }
  },
  async metrics(): Promise<Metrics> {
    (globalThis as { gc?: () => void }).gc?.();
    return db.metrics();
  },
};

/** The requests of `bench.large`. */
export type LargeTools = typeof tools;

onmessage = ({ data: [name, ...rest] }: MessageEvent<[keyof LargeTools, ...unknown[]]>) => {
  const tool = tools[name] as (...rest: unknown[]) => unknown;
  Promise.resolve(tool(...rest)).then(
    (value) => postMessage({ ok: true, value }),
    (error: unknown) => postMessage({ ok: false, error: `${name}: ${error instanceof Error ? error.stack : String(error)}` }),
  );
};
