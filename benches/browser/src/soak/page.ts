/** The page of the soak: starts the clients, and reports on them. `lib/soak.mjs` calls the functions of `globalThis.soak`. */

import { type Database, type Metrics, open } from "tabstore";
import { Counting, COUNTERS, Tally } from "./counters.js";
import { EXPIRING, Expiring, LIFE } from "./expiring.js";
import { type Slowest, type Summary, summaries } from "./latency.js";
import { LOADED, Loader, Watcher } from "./loader.js";
import { OWNED, Owner } from "./owner.js";
import { type Client, PRIMARY_KEY, Scene } from "./scene.js";

const NAME = "soak";
const START = Date.UTC(2026, 0, 1);
const OWNERS = 4;
const COUNTING = 3;
/** Milliseconds between looks at the engine's work. */
const SAMPLE = 200;
const SAMPLES = 1_000;

/** The engine's work up to a moment. */
interface Sample {
  readonly at: number;
  readonly work: Metrics["work"];
  readonly frozen: number;
  /** Partitions that splits have made and merges have ended, up to then. */
  readonly splits: number;
  readonly merges: number;
}

let scene: Scene;
let clients: Client[] = [];
let running: Promise<unknown> = Promise.resolve();
let failure: string | undefined;
let looking: ReturnType<typeof setInterval> | undefined;
const samples: Sample[] = [];
/** The ids of the partitions of each tree, at the last look. */
const partitions = new Map<number, Set<number>>();
let splits = 0;
let merges = 0;
/** The engine's work while the slowest operation of a kind waited. */
const causes = new Map<string, { slowest: Slowest; cause: string }>();

/** A cache that the data does not fit into, memtables that are often full, and partitions that split and merge. */
function openIt(now: number): Promise<Database> {
  return open(NAME, {
    worker: true,
    storage: "indexeddb",
    cacheBytes: 4 << 20,
    memtableBytes: 1 << 20,
    clock: { now },
    partitions: { splitBytes: 1 << 20, mergeBytes: 1 << 18, splitOperations: 500 },
  });
}

function cause({ from, to }: Slowest): string {
  const before = samples.findLast(({ at }) => at <= from) ?? samples[0];
  const after = samples.find(({ at }) => at >= to) ?? samples[samples.length - 1];
  if (before === undefined || after === undefined) return "";
  const did = (["commits", "flushes", "compactions", "bytesFlushed", "bytesCompacted"] as const).map((name) => {
    const count = after.work[name] - before.work[name];
    return count === 0 ? "" : name.startsWith("bytes") ? `${(count / 1e6).toFixed(1)} MB ${name.slice(5).toLowerCase()}` : `${count} ${name}`;
  });
  const changes = (["splits", "merges"] as const).map((name) => (after[name] === before[name] ? "" : `${after[name] - before[name]} ${name}`));
  return [...did, ...changes, after.frozen > 0 ? `${after.frozen} frozen memtables` : ""].filter(Boolean).join(", ");
}

async function look(): Promise<void> {
  const { work, memtable, trees } = await scene.db.metrics();
  for (const { tree, partitions: now } of trees) {
    const before = partitions.get(tree);
    const ids = new Set(now.map(({ partitionId }) => partitionId));
    // The first partition of a tree, or one that is all of it, is no split.
    if (before !== undefined && before.size > 0 && ids.size > 0) {
      splits += [...ids].filter((id) => !before.has(id)).length;
      merges += [...before].filter((id) => !ids.has(id)).length;
    }
    partitions.set(tree, ids);
  }
  samples.push({ at: performance.now(), work, frozen: memtable.frozen, splits, merges });
  if (samples.length > SAMPLES) samples.shift();
  for (const [kind, slowest] of scene.latencies.slowest) {
    if (causes.get(kind)?.slowest !== slowest) causes.set(kind, { slowest, cause: cause(slowest) });
  }
}

/** The result of `report`. */
export interface Report {
  readonly recent: Record<string, Summary>;
  readonly all: Record<string, Summary>;
  readonly causes: Record<string, string>;
  readonly compared: number;
  readonly failure: string | undefined;
  readonly metrics: Metrics;
  readonly splits: number;
  readonly merges: number;
  readonly usage: number;
}

const soak = {
  async start(seed: number): Promise<void> {
    const db = await openIt(START);
    scene = new Scene(db, START);
    for (const tableName of [OWNED, LOADED, COUNTERS]) await db.createTable({ tableName, primaryKey: [...PRIMARY_KEY] });
    await db.createTable({ tableName: EXPIRING, primaryKey: [...PRIMARY_KEY], timeToLive: LIFE });
    const tally = new Tally();
    const loader = new Loader(scene);
    clients = [
      ...Array.from({ length: OWNERS }, (_, i) => new Owner(scene, i, seed)),
      ...Array.from({ length: COUNTING }, (_, i) => new Counting(scene, tally, seed * 31 + i)),
      new Expiring(scene, seed),
      loader,
      new Watcher(scene, loader),
    ];
    running = Promise.all(
      clients.map((client) =>
        client.run().catch((error: unknown) => {
          failure ??= error instanceof Error ? String(error.stack) : String(error);
          scene.over = true;
        }),
      ),
    );
    looking = setInterval(() => void look().catch(() => {}), SAMPLE);
  },

  async report(): Promise<Report> {
    (globalThis as { gc?: () => void }).gc?.();
    const { usage = 0 } = await navigator.storage.estimate();
    return {
      recent: scene.latencies.takeRecent(),
      all: summaries(scene.latencies.all),
      causes: Object.fromEntries([...causes].map(([kind, one]) => [kind, one.cause])),
      compared: scene.compared,
      failure,
      metrics: await scene.db.metrics(),
      splits,
      merges,
      usage,
    };
  },

  /** Lets the clients finish their work. */
  async stop(): Promise<void> {
    scene.over = true;
    await running;
    clearInterval(looking);
    await look();
  },

  /** Compares everything with the acknowledged writes. */
  async verify(): Promise<void> {
    for (const client of clients) await client.verify();
  },

  /** Writes the memtable, and waits until the engine has no work left. */
  async settle(): Promise<void> {
    await scene.db.flush();
    for (let last = "", same = 0; same < 5; ) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const { segments, work, memtable } = await scene.db.metrics();
      const now = JSON.stringify([segments, work.compactions, work.flushes, memtable]);
      same = now === last ? same + 1 : 0;
      last = now;
    }
  },

  /** Merges everything, and returns the bytes of the live data. */
  async liveBytes(): Promise<number> {
    await scene.db.compact();
    return (await scene.db.metrics()).segments.bytes;
  },

  async reopen(): Promise<void> {
    await scene.db.close();
    scene.db = await openIt(scene.now);
  },
};

/** The functions that `lib/soak.mjs` calls. */
export type Soak = typeof soak;
(globalThis as unknown as { soak: Soak }).soak = soak;
