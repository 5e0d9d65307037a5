/** The one dedicated worker in which the databases are compared; and a fresh one wherever loading is measured. */

import { type BenchRow, look, row, rows } from "./data.js";
import { type Engine, type EngineName, load } from "./engine.js";
import { type Measured, type Workload, WORKLOADS, WRITES } from "./workloads.js";

/** The requests to the worker. */
export type Ask =
  /** Makes the rows. */
  | { op: "rows"; count: number }
  | { op: "step"; engine: EngineName; workload: Workload; database: string; share: number; seed: number }
  /** Loads a database's code and opens a new database. */
  | { op: "firstOpen"; engine: EngineName; database: string }
  /** Loads a database's code, opens one that is there and reads a row. */
  | { op: "firstRead"; engine: EngineName; database: string; id: number }
  /** Measures the machine. */
  | { op: "probe" }
  /** Gives each message on the port back, as those numbers that come without one. */
  | { op: "echo"; port?: MessagePort };

let data: BenchRow[] = [];
const engines = new Map<EngineName, Engine>();

async function engineOf(name: EngineName): Promise<Engine> {
  let engine = engines.get(name);
  if (engine === undefined) engines.set(name, (engine = await load(name)));
  return engine;
}

/** Milliseconds of a fixed piece of arithmetic, the best of three. */
function cpuProbe(): number {
  const times = [0, 1, 2].map(() => {
    const start = performance.now();
    let x = 1;
    for (let i = 0; i < 30_000_000; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
    return x === 0 ? Infinity : performance.now() - start;
  });
  return Math.min(...times);
}

/** Microseconds of a flush of 4 KB in a file of OPFS, the median of many. */
async function flushProbe(): Promise<number> {
  const root = await navigator.storage.getDirectory();
  const file = await root.getFileHandle("probe", { create: true });
  const handle = await (
    file as unknown as { createSyncAccessHandle(): Promise<{ write(bytes: Uint8Array, at: { at: number }): number; flush(): void; close(): void }> }
  ).createSyncAccessHandle();
  const times: number[] = [];
  for (let i = 0; i < 31; i++) {
    handle.write(new Uint8Array(4096).fill(i), { at: 0 });
    const start = performance.now();
    handle.flush();
    times.push((performance.now() - start) * 1000);
  }
  handle.close();
  // Both are used once more: Chromium does not answer a call of a handle that it has collected.
  await root.removeEntry(file.name);
  return times.sort((a, b) => a - b)[times.length >> 1];
}

async function answer(ask: Ask): Promise<Measured | undefined> {
  const start = performance.now();
  switch (ask.op) {
    case "rows":
      data = rows(1, ask.count);
      return undefined;
    case "step": {
      const { workload, database, share, seed } = ask;
      const engine = await engineOf(ask.engine);
      const measured = await WORKLOADS[workload]({
        engine,
        database,
        share,
        seed,
        rows: share === 1 ? data : data.slice(0, Math.max(200, Math.round(data.length * share))),
      });
      if (WRITES.has(workload)) await engine.settle?.();
      (globalThis as { gc?: () => void }).gc?.();
      return measured;
    }
    case "firstOpen": {
      const engine = await engineOf(ask.engine);
      await engine.open(ask.database);
      const ms = performance.now() - start;
      await engine.close();
      await engine.remove(ask.database);
      return { ms, operations: 1 };
    }
    case "firstRead": {
      const engine = await engineOf(ask.engine);
      await engine.open(ask.database);
      const found = await engine.get("bulk", ask.id);
      const ms = performance.now() - start;
      if (found === undefined || look(found) !== look(row(ask.id))) throw new Error(`${ask.engine}: the first read is wrong`);
      // It is not closed: the page would measure that too, and ends this worker.
      return { ms, operations: 1 };
    }
    case "probe":
      return { ms: cpuProbe(), operations: await flushProbe() };
    case "echo": {
      const { port } = ask;
      if (port !== undefined) port.onmessage = ({ data: number }) => port.postMessage(number);
      return undefined;
    }
  }
}

onmessage = ({ data: ask }: MessageEvent<Ask | number>) => {
  if (typeof ask === "number") {
    postMessage(ask);
    return;
  }
  answer(ask).then(
    (value) => postMessage({ ok: true, value }),
    (error: unknown) =>
      postMessage({ ok: false, error: `${ask.op} ${"engine" in ask ? ask.engine : ""}: ${error instanceof Error ? error.stack : String(error)}` }),
  );
};
