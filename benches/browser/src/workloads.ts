/** The measurements: each workload does its work, checks the results, and returns the time of one operation. */

import { type BenchRow, look, lookAll, random, row } from "./data.js";
import type { Engine, Table } from "./engine.js";

/** The surroundings of a workload. */
export interface Scene {
  engine: Engine;
  /** Name of the database, which the workload `open` makes and `remove` deletes. */
  database: string;
  /** The rows of the table `bulk`. */
  rows: readonly BenchRow[];
  /** The share of the work: 1 to measure, less to warm up. */
  share: number;
  /** Different in each round. */
  seed: number;
}

/** A measurement. */
export interface Measured {
  /** Milliseconds in all. */
  ms: number;
  /** Operations in that time. */
  operations: number;
}

/** Single puts, one after another. */
const PUTS = 2_000;
/** So many that memtables fill and are flushed meanwhile. */
const MANY_PUTS = 20_000;
/** Single puts that are all under way at once. */
const IN_FLIGHT = 10_000;
/** So many that their milliseconds can be told apart: 5,000 of the fastest take 30. */
const GETS = 20_000;
/** After so many gets browsers have optimised all code of a get. */
const GETS_BEFORE = 60_000;
/** Calls that read {@link KEYS} rows each. */
const MANY = 300;
const KEYS = 100;
const REOPENINGS = 5;
/** Gets of a table that is larger than the cache. */
const COLD = 3_000;
/** Rows of a small range. */
const FEW_ROWS = 10;
/** That cache. */
const CACHE_BYTES = 4 << 20;
/** Puts that wait for the device. */
const STRICT = 300;
/** What a short session does: the first ones of a worker. */
const FIRST = 300;
/** One row in a hundred has a smaller count. */
const FEW = 10_000;

function expect(what: string, found: number, expected: number): void {
  // The sums are of eighths, so they are exact.
  if (found !== expected) throw new Error(`${what}: ${found} was read, ${expected} was written`);
}

async function timed(operations: number, work: () => Promise<void>): Promise<Measured> {
  profileMark();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  profileMark();
  return { ms, operations };
}

/** Long enough to show in a profile, which finds the measured time by it. */
function profileMark(): void {
  const end = performance.now() + 1.5;
  while (performance.now() < end);
}

function some(scene: Scene, count: number): number {
  return Math.max(10, Math.round(Math.min(count, scene.rows.length) * scene.share));
}

/** Random keys among the rows that were loaded. */
function keys({ rows, seed }: Scene, count: number): number[] {
  const next = random(seed);
  return Array.from({ length: count }, () => rows[next() % rows.length].id);
}

/** Reads everything of a table of single puts back. */
async function checkSingles(engine: Engine, rows: readonly BenchRow[], table: Table = "single"): Promise<void> {
  const found = new Map<number, BenchRow>();
  await engine.scan(table, (page) => {
    for (const one of page) found.set(one.id, one);
  });
  expect("single puts", lookAll(rows.map(({ id }) => found.get(id) ?? { ...row(0), id: Number.NaN })), lookAll(rows));
}

/** Random gets, awaited one after another; the first ones are not measured. */
async function gets(scene: Scene, count: number, before = 0): Promise<Measured> {
  const { engine } = scene;
  const wanted = keys(scene, count);
  let sum = 0;
  for (const id of keys({ ...scene, seed: scene.seed + 200 }, before)) await engine.get("bulk", id);
  const measured = await timed(wanted.length, async () => {
    for (const id of wanted) sum += look((await engine.get("bulk", id))!);
  });
  expect("gets", sum, lookAll(wanted.map(row)));
  return measured;
}

/** Random gets of {@link KEYS} keys a call. */
async function getsOfMany(scene: Scene, calls: number): Promise<Measured> {
  const { engine, rows } = scene;
  const next = random(scene.seed + 1);
  const wanted = Array.from({ length: calls }, () => {
    const ids = new Set<number>();
    while (ids.size < Math.min(KEYS, rows.length)) ids.add(rows[next() % rows.length].id);
    return [...ids];
  });
  let sum = 0;
  const measured = await timed(wanted.length * KEYS, async () => {
    for (const ids of wanted) sum += lookAll(await engine.getMany("bulk", ids));
  });
  expect("gets of many", sum, lookAll(wanted.flat().map(row)));
  return measured;
}

/** Single puts, awaited one after another. */
async function puts(scene: Scene, count: number, first: number): Promise<Measured> {
  const { engine } = scene;
  const fresh = Array.from({ length: some(scene, count) }, (_, i) => row(first + i));
  const measured = await timed(fresh.length, async () => {
    for (const one of fresh) await engine.put("single", one);
  });
  await checkSingles(engine, fresh);
  return measured;
}

type Workloads = Record<string, (scene: Scene) => Promise<Measured>>;

/** All workloads, in the order in which they run. */
export const WORKLOADS = {
  async open({ engine, database }) {
    return timed(1, () => engine.open(database));
  },

  put: (scene) => puts(scene, PUTS, 10_000_000),

  manyPuts: (scene) => puts(scene, MANY_PUTS, 60_000_000),

  async inFlight(scene) {
    const { engine } = scene;
    const fresh = Array.from({ length: some(scene, IN_FLIGHT) }, (_, i) => row(20_000_000 + i));
    const measured = await timed(fresh.length, async () => {
      await Promise.all(fresh.map((one) => engine.put("single", one)));
    });
    await checkSingles(engine, fresh);
    return measured;
  },

  async indexed(scene) {
    const { engine } = scene;
    const fresh = Array.from({ length: some(scene, IN_FLIGHT) }, (_, i) => row(30_000_000 + i));
    const measured = await timed(fresh.length, async () => {
      await Promise.all(fresh.map((one) => engine.put("indexed", one)));
    });
    await checkSingles(engine, fresh, "indexed");
    return measured;
  },

  async bulk({ engine, rows }) {
    return timed(rows.length, () => engine.bulk("bulk", rows));
  },

  get: (scene) => gets(scene, some(scene, GETS)),

  lateGet: (scene) => gets(scene, some(scene, GETS), some(scene, GETS_BEFORE)),

  getMany: (scene) => getsOfMany(scene, some(scene, MANY)),

  /** Opens it with a small cache. */
  async openSmall({ engine, database }) {
    return timed(1, () => engine.open(database, { cacheBytes: CACHE_BYTES }));
  },

  /** Opens it so that each write waits for the device. */
  async openStrict({ engine, database }) {
    return timed(1, () => engine.open(database, { strict: true }));
  },

  warmGet: (scene) => gets({ ...scene, seed: scene.seed + 100 }, some(scene, COLD)),

  coldGet: (scene) => gets(scene, some(scene, COLD)),

  coldMany: (scene) => getsOfMany(scene, Math.ceil(some(scene, COLD) / KEYS)),

  /** Some rows from a random key on. */
  async coldFew(scene) {
    const { engine, rows } = scene;
    const starts = keys(scene, some(scene, COLD / 2));
    let sum = 0;
    const found: number[] = [];
    const measured = await timed(starts.length, async () => {
      for (const start of starts) {
        const page = await engine.few!("bulk", start, FEW_ROWS);
        sum += lookAll(page);
        for (const { id } of page) found.push(id);
      }
    });
    const last = rows[rows.length - 1].id;
    const expected = starts.flatMap((start) => Array.from({ length: Math.min(FEW_ROWS, last - start + 1) }, (_, i) => start + i));
    expect("rows of small ranges", found.filter((id, at) => id === expected[at]).length, expected.length);
    expect("values of small ranges", sum, lookAll(expected.map(row)));
    return measured;
  },

  strict: (scene) => puts(scene, STRICT, 50_000_000),

  firstPuts: (scene) => puts(scene, FIRST, 70_000_000),

  firstGets: (scene) => gets(scene, some(scene, FIRST)),

  async scan({ engine, rows }) {
    let sum = 0;
    let count = 0;
    let sorted = true;
    let last = -Infinity;
    const measured = await timed(rows.length, () =>
      engine.scan("bulk", (page) => {
        count += page.length;
        for (const one of page) {
          sum += look(one);
          sorted &&= one.id > last;
          last = one.id;
        }
      }),
    );
    expect("rows scanned", count, rows.length);
    expect("values scanned", sum, lookAll(rows));
    if (!sorted) throw new Error("the rows scanned are not in order");
    return measured;
  },

  async filter({ engine, rows }) {
    const right = rows.filter(({ count }) => count < FEW);
    let sum = 0;
    const measured = await timed(rows.length, () => engine.filtered!("bulk", FEW, (page) => void (sum += lookAll(page))));
    expect("rows that a filter lets pass", sum, lookAll(right));
    return measured;
  },

  async column({ engine, rows }) {
    const lookAt = (some: readonly Pick<BenchRow, "id" | "count">[]) => some.reduce((sum, { id, count }) => sum + id + count, 0);
    let sum = 0;
    const measured = await timed(rows.length, () => engine.column!("bulk", (page) => void (sum += lookAt(page))));
    expect("values of a column", sum, lookAt(rows));
    return measured;
  },

  async reopen({ engine, database, rows }) {
    const times: number[] = [];
    for (let i = 0; i < REOPENINGS; i++) {
      await engine.close();
      const { id } = rows[(i * 7919 + 13) % rows.length];
      let found: BenchRow | undefined;
      const { ms } = await timed(1, async () => {
        await engine.open(database);
        found = await engine.get("bulk", id);
      });
      expect("first read", look(found!), look(row(id)));
      times.push(ms);
    }
    times.sort((a, b) => a - b);
    return { ms: times[REOPENINGS >> 1], operations: 1 };
  },

  /** Right after puts: nothing was settled before. */
  async reopenPuts(scene) {
    const { engine, database } = scene;
    const fresh = Array.from({ length: some(scene, PUTS) + some(scene, IN_FLIGHT) }, (_, i) => row(40_000_000 + i));
    const first = fresh.slice(0, some(scene, PUTS));
    for (const one of first) await engine.put("single", one);
    await Promise.all(fresh.slice(first.length).map((one) => engine.put("single", one)));
    await engine.close();
    const last = fresh[fresh.length - 1];
    let found: BenchRow | undefined;
    const measured = await timed(1, async () => {
      await engine.open(database);
      found = await engine.get("single", last.id);
    });
    expect("first read after puts", look(found!), look(last));
    return measured;
  },

  async close({ engine }) {
    return timed(1, () => engine.close());
  },

  async remove({ engine, database }) {
    return timed(1, () => engine.remove(database));
  },
} satisfies Workloads;

/** The name of a workload. */
export type Workload = keyof typeof WORKLOADS;

/** Those after which the database stores what it still has to. */
export const WRITES: ReadonlySet<string> = new Set(["put", "manyPuts", "inFlight", "indexed", "bulk", "strict"] satisfies (keyof typeof WORKLOADS)[]);
