/** The page: starts workers, and makes the measurements that need a page. `run.mjs` calls the functions of `globalThis.bench`. */

import { type BenchRow, look, lookAll, random, row, rows } from "./data.js";
import { tabstore } from "./engines/tabstore.js";
import type { EngineName } from "./engine.js";
import type { LargeTools } from "./large.js";
import type { Ask } from "./worker.js";
import { type Measured, type Scene, type Workload, WORKLOADS, WRITES } from "./workloads.js";

type Answer<T> = { ok: true; value: T } | { ok: false; error: string };

/** Starts a worker. Returns a function that asks it. */
function start<A = Ask, T = Measured | undefined>(script = "/worker.js"): { ask(ask: A, given?: Transferable[]): Promise<T>; worker: Worker } {
  const worker = new Worker(script, { type: "module" });
  return {
    worker,
    ask: (ask, given = []) =>
      new Promise((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<Answer<T>>) => (data.ok ? resolve(data.value) : reject(new Error(data.error)));
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(ask, given);
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

/** Microseconds of a bare trip there and back. */
async function roundTrip(there: Worker | MessagePort, trips: number): Promise<number> {
  const trip = () =>
    new Promise<void>((resolve) => {
      there.onmessage = () => resolve();
      there.postMessage(1);
    });
  for (let i = 0; i < trips / 5; i++) await trip();
  const before = performance.now();
  for (let i = 0; i < trips; i++) await trip();
  return ((performance.now() - before) * 1000) / trips;
}

/** The shared worker that passes a port from one page to another. */
const hub = () => new SharedWorker("/hub.js", { type: "module" }).port;
let echo: ReturnType<typeof start> | undefined;

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
const remotes = new Map<string, { engine: ReturnType<typeof tabstore>; scene: Scene }>();
let made: BenchRow[] = [];

const bench = {
  /** Starts the shared worker and makes its rows. */
  async begin(count: number): Promise<void> {
    shared = start();
    await shared.ask({ op: "rows", count });
  },
  /** A workload of a database, in the shared worker. */
  step: (engine: EngineName, workload: Workload, database: string, share: number, seed: number) =>
    shared!.ask({ op: "step", engine, workload, database, share, seed }),
  /** The machine at this moment: milliseconds of a piece of arithmetic, microseconds of a flush. */
  async probe(): Promise<{ cpu: number; flush: number }> {
    const { ms, operations } = (await shared!.ask({ op: "probe" })) as Measured;
    return { cpu: ms, flush: operations };
  },
  /** Opening a new database with nothing loaded. */
  firstOpen: (engine: EngineName, database: string) => inFreshWorker({ op: "firstOpen", engine, database }),
  /** Opening a database and reading a row, with nothing loaded. */
  firstRead: (engine: EngineName, database: string, id: number) => inFreshWorker({ op: "firstRead", engine, database, id }),
  end(): void {
    shared!.worker.terminate();
    shared = undefined;
  },
  /** Microseconds of a bare trip to a worker of this page and back. */
  async trip(trips: number): Promise<number> {
    const { ask, worker } = start();
    await ask({ op: "echo" });
    const took = await roundTrip(worker, trips);
    worker.terminate();
    return took;
  },
  /** Starts a worker that another page may send messages to. */
  async hear(): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    echo = start();
    await echo.ask({ op: "echo", port: port1 }, [port1]);
    hub().postMessage(port2, [port2]);
  },
  /** Microseconds of a bare trip to the worker of the page that hears, and back. */
  async tripThere(trips: number): Promise<number> {
    const from = hub();
    const port = new Promise<MessagePort>((resolve) => (from.onmessage = ({ data }: MessageEvent<MessagePort>) => resolve(data)));
    from.postMessage(null);
    return roundTrip(await port, trips);
  },
  hearNoMore(): void {
    echo?.worker.terminate();
    echo = undefined;
  },
  /** Bytes that this origin stores, once the number stands still. */
  usage,

  /** Our package in this page, its engine in the worker that it starts by itself, or in that of the page that leads. */
  async remoteBegin(count: number, database: string): Promise<void> {
    if (made.length !== count) made = rows(1, count);
    const engine = tabstore(true);
    remotes.set(database, { engine, scene: { engine, database, rows: made, share: 1, seed: 1 } });
  },
  async remoteStep(database: string, workload: Workload, share: number, seed: number): Promise<Measured> {
    const { engine, scene } = remotes.get(database)!;
    const measured = await WORKLOADS[workload]({ ...scene, share, seed, rows: share === 1 ? scene.rows : scene.rows.slice(0, 1000) });
    if (WRITES.has(workload)) await engine.settle?.();
    if (workload === "close") remotes.delete(database);
    return measured;
  },
  /** Whether this page leads an instance. */
  role: (database: string) => remotes.get(database)!.engine.database().role,
  /** Deletes an instance that all pages have closed. */
  remoteRemove: (database: string) => tabstore(true).remove(database),

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
};

/** The functions that `run.mjs` calls. */
export type Bench = typeof bench;
(globalThis as unknown as { bench: Bench }).bench = bench;
// Kept for the console of a person who looks at this page.
Object.assign(globalThis, { look, lookAll, random, row });
