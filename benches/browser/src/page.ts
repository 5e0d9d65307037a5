/** The page: starts workers, and makes the measurements that need a page. `run.mjs` calls the functions of `globalThis.bench`. */

import { look, lookAll, random, row, rows } from "./data.js";
import { tabstore } from "./engines/tabstore.js";
import type { EngineName } from "./engine.js";
import type { LargeTools } from "./large.js";
import type { Ask } from "./worker.js";
import { type Measured, type Scene, type Workload, WORKLOADS } from "./workloads.js";

type Answer<T> = { ok: true; value: T } | { ok: false; error: string };

/** Starts a worker. Returns a function that asks it. */
function start<A = Ask, T = Measured | undefined>(script = "/worker.js"): { ask(ask: A): Promise<T>; worker: Worker } {
  const worker = new Worker(script, { type: "module" });
  return {
    worker,
    ask: (ask) =>
      new Promise((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<Answer<T>>) => (data.ok ? resolve(data.value) : reject(new Error(data.error)));
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(ask);
      }),
  };
}

async function inFreshWorker(ask: Ask): Promise<{ inside: number; outside: number }> {
  const before = performance.now();
  const { ask: send, worker } = start();
  try {
    // The worker's own start is the browser's affair; it is measured apart.
    const measured = await send(ask);
    return { inside: measured!.ms, outside: performance.now() - before };
  } finally {
    worker.terminate();
  }
}

/** Microseconds of a bare trip to a worker and back. */
async function roundTrip(trips: number): Promise<number> {
  const { ask, worker } = start();
  await ask({ op: "echo" });
  const trip = () =>
    new Promise<void>((resolve) => {
      worker.onmessage = () => resolve();
      worker.postMessage(1);
    });
  for (let i = 0; i < trips / 5; i++) await trip();
  const before = performance.now();
  for (let i = 0; i < trips; i++) await trip();
  const ms = performance.now() - before;
  worker.terminate();
  return (ms * 1000) / trips;
}

async function usage(): Promise<number> {
  let last = -1;
  for (let same = 0, tries = 0; same < 4 && tries < 60; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const { usage: now = 0 } = await navigator.storage.estimate();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}

let shared: ReturnType<typeof start> | undefined;
let large: ReturnType<typeof start<readonly unknown[], unknown>> | undefined;
let remote: { engine: ReturnType<typeof tabstore>; scene: Scene } | undefined;

const bench = {
  /** Starts the shared worker and makes its rows. */
  async begin(count: number): Promise<void> {
    shared = start();
    await shared.ask({ op: "rows", count });
  },
  /** A workload of a database, in the shared worker. */
  step: (engine: EngineName, workload: Workload, database: string, share: number, seed: number) =>
    shared!.ask({ op: "step", engine, workload, database, share, seed }),
  /** Opening a new database with nothing loaded. */
  firstOpen: (engine: EngineName, database: string) => inFreshWorker({ op: "firstOpen", engine, database }),
  /** Opening a database and reading a row, with nothing loaded. */
  firstRead: (engine: EngineName, database: string, id: number) => inFreshWorker({ op: "firstRead", engine, database, id }),
  end(): void {
    shared!.worker.terminate();
    shared = undefined;
  },
  roundTrip,
  /** Bytes that this origin stores, once the number stands still. */
  usage,

  /** Our package in this page, its engine in the worker that it starts by itself. */
  async remoteBegin(count: number, database: string): Promise<void> {
    const engine = tabstore(true);
    remote = { engine, scene: { engine, database, rows: rows(1, count), share: 1, seed: 1 } };
  },
  async remoteStep(workload: Workload, share: number, seed: number): Promise<Measured> {
    const { engine, scene } = remote!;
    const measured = await WORKLOADS[workload]({ ...scene, share, seed, rows: share === 1 ? scene.rows : scene.rows.slice(0, 1000) });
    if (workload === "bulk" || workload === "put" || workload === "inFlight" || workload === "indexed") await engine.settle?.();
    return measured;
  },

  /** Asks the worker of `large.ts`, which is started when there is none. */
  large(tool: keyof LargeTools, ...rest: unknown[]): Promise<unknown> {
    large ??= start("/large.js");
    return large.ask([tool, ...rest]);
  },
  /** Milliseconds from nothing to a row: a new worker, the code, opening and reading. Another worker must have closed it. */
  async largeAnew(...options: unknown[]): Promise<number> {
    large?.worker.terminate();
    large = undefined;
    const before = performance.now();
    await bench.large("open", ...options);
    return performance.now() - before;
  },

  /** Milliseconds of the parts of our way, for the profile: what the package does before and after the engine. */
  async metrics(): Promise<unknown> {
    return remote?.engine.database().metrics();
  },
};

/** The functions that `run.mjs` calls. */
export type Bench = typeof bench;
(globalThis as unknown as { bench: Bench }).bench = bench;
// Kept for the console of a person who looks at this page.
Object.assign(globalThis, { look, lookAll, random, row });
