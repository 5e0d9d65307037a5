// Many clients on one instance for a while. All reads are compared with the acknowledged writes. Neither memory nor
// disk may grow, nor an operation wait long.

import { Browser } from "./browser.mjs";
import { machineOf } from "./compare.mjs";
import { columns, figure, markdown, median, megabytes } from "./statistics.mjs";

/** Seconds between lines. */
const EVERY = 30;
/**
 * The parts of the time whose readings are compared: after warm-up, and at the end. Medians, because garbage that is
 * not collected yet comes and goes.
 */
const WARM = [0.25, 0.55];
const LATE = [0.7, 1.05];
/** Growth that is noise: bytes, and a share. */
const NOISE = { wasm: [8e6, 0.15], renderer: [32e6, 0.25] };
/** The most bytes on disk beside live data and its tenths. */
const SPARE = 32 * 1024 * 1024;
/** Operations that a user waits for, and the longest that one may take, in milliseconds. */
const FOREGROUND = ["get", "put", "update", "increment", "delete", "range", "batch of 20 writes", "batch of 50 gets"];
const LONG = 1_000;

const mb = (bytes) => `${figure(megabytes(bytes))} MB`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function operations(all, causes = {}) {
  const head = ["operation", "count", "p50 ms", "p99 ms", "max ms", "while the slowest waited"];
  return [
    head,
    Object.entries(all).map(([kind, { count, p50, p99, max }]) => [kind, String(count), figure(p50), figure(p99), figure(max), causes[kind] ?? ""]),
    [0, 5],
  ];
}

/** Runs for so many minutes. */
export async function soak(server, wanted) {
  const browser = await Browser.start(wanted["sqlite-idb"]);
  try {
    const page = await browser.open(`http://127.0.0.1:${server.port}/soak`, "soak");
    const call = (name, ...rest) => page.evaluate(([n, r]) => globalThis.soak[n](...r), [name, rest]);
    const started = Date.now();
    const length = wanted.minutes * 60_000;
    const history = [];
    const failures = [];
    const look = async (what) => {
      const report = await call("report");
      const { metrics, recent, compared } = report;
      const uses = {
        what,
        seconds: Math.round((Date.now() - started) / 1000),
        wasm: metrics.wasmMemoryBytes,
        renderer: await browser.rendererBytes(),
        disk: browser.storedBytes(),
        usage: report.usage,
        splits: report.splits,
        merges: report.merges,
        segments: metrics.segments.bytes,
        count: metrics.segments.count,
        slice: metrics.work.longestSliceUs / 1000,
      };
      history.push({ ...uses, recent });
      const times = Object.entries(recent)
        .map(([kind, { count, p50, p99, max }]) => `${kind} ${count}: ${figure(p50)}/${figure(p99)}/${figure(max)}`)
        .join("; ");
      console.log(
        `${String(uses.seconds).padStart(5)} s ${what}: ${compared} rows compared; wasm ${mb(uses.wasm)}, renderer ${mb(uses.renderer)}, disk ${mb(uses.disk)} (the browser says ${mb(uses.usage)}), ${uses.count} segments ${mb(uses.segments)}, ${metrics.work.flushes} flushes, ${metrics.work.compactions} compactions, ${report.splits} splits, ${report.merges} merges; longest slice ${figure(metrics.work.longestSliceUs / 1000)} ms`,
      );
      if (times !== "") console.log(`        ${times}`);
      return { report, uses };
    };
    await call("start", wanted.seed);
    const pause = Math.min(EVERY * 1000, length / 10);
    while (Date.now() - started < length) {
      await sleep(Math.min(pause, Math.max(0, started + length - Date.now())));
      if ((await look("running")).report.failure !== undefined) break;
    }
    await call("stop");
    const { report, uses: last } = await look("stopped");
    if (report.failure !== undefined) throw new Error(`a client stopped: ${report.failure}`);
    await call("verify");
    await call("settle");
    // The browser gives space back a little later.
    await sleep(Math.min(5_000, length / 10));
    const { uses: settled } = await look("settled");
    const live = await call("liveBytes");
    await call("reopen");
    await call("verify");
    const { uses: reopened } = await look("merged, opened again");

    const during = (name, [from, to]) => {
      const running = history.filter(({ what }) => what === "running");
      const some = running.filter(({ seconds }) => seconds * 1000 >= length * from && seconds * 1000 <= length * to);
      return median((some.length > 0 ? some : running).map((one) => one[name]));
    };
    const memory = Object.entries(NOISE).map(([name, [bytes, share]]) => {
      const [warm, late] = [during(name, WARM), during(name, LATE)];
      if (late > warm + Math.max(bytes, warm * share)) failures.push(`memory (${name}) has grown from ${mb(warm)} after warm-up to ${mb(late)}`);
      return `${name} ${mb(warm)}, ${mb(late)}`;
    });
    const most = live * 1.3 + SPARE;
    if (settled.disk > most) failures.push(`${mb(settled.disk)} are on disk, for ${mb(live)} of live data; at most ${mb(most)} may be`);
    for (const kind of FOREGROUND) {
      const max = report.all[kind]?.max ?? 0;
      if (max > LONG) failures.push(`${kind} waited ${figure(max)} ms; meanwhile: ${report.causes[kind]}`);
    }
    const [head, lines, left] = operations(report.all, report.causes);
    console.log(`\n${columns(head, lines, left)}`);
    const summary = `${report.compared} rows were compared in ${last.seconds} s; ${last.splits} splits, ${last.merges} merges of partitions. Background work kept the engine's thread for ${figure(last.slice)} ms at most. Memory after warm-up and at the end: ${memory.join("; ")}. On disk after settling ${mb(settled.disk)}, at most allowed ${mb(most)}; live data ${mb(live)}; after merging everything ${mb(reopened.disk)}.`;
    console.log(summary);
    return {
      record: { minutes: wanted.minutes, seed: wanted.seed, machine: machineOf(browser), history, all: report.all, causes: report.causes, live, failures },
      text: `${summary}\n\n${markdown(head, lines, left)}`,
      failures,
    };
  } finally {
    await browser.stop();
  }
}
