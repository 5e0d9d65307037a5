// Compares the package with the other databases.

import os from "node:os";

import { versions } from "./build.mjs";
import { Profiler } from "./profile.mjs";
import { Figures, megabytes, say } from "./statistics.mjs";

export const STEPS = ["open", "put", "inFlight", "indexed", "bulk", "get", "getMany", "scan", "filter", "column", "reopen", "reopenPuts"];
/** Steps that the others need. */
export const ALWAYS = new Set(["open", "bulk"]);
/** The part of the work that is done once before, so that code is warm when it is measured. */
const WARM_UP = 0.2;
/** The steps that only {@link LOOKERS} are asked for. */
const LOOKS = new Set(["filter", "column"]);
/** The databases for these steps: the ones that only have scans, and the ones that have a language for it. */
const LOOKERS = new Set(["tabstore", "idb", "sqlite"]);
const impossible = (engine, workload) => (engine === "localforage" && workload === "indexed") || (LOOKS.has(workload) && !LOOKERS.has(engine));
const MILLISECONDS = new Set(["open", "reopen", "reopenPuts"]);

const perOperation = ({ ms, operations }) => (ms * 1000) / operations;
const rotate = (list, by) => list.map((_, i) => list[(i + by) % list.length]);
/** Every other round runs in reverse, so that no database always follows the same one. */
const inTurn = (list, round) => rotate(round % 2 === 0 ? list : list.toReversed(), round);
/** The pause before each measurement, in ms. Some databases answer before all is stored, and store it in the time of the next. */
const PAUSE = 500;
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

/** The shared worker: every workload of every database in turn, so that a noisy moment hits all. */
async function together(page, { engines, rows, rounds, steps }, figures, profiler) {
  const step = (engine, workload, round, share) =>
    page.evaluate(([e, w, d, s, n]) => globalThis.bench.step(e, w, d, s, n), [engine, workload, `${engine}-${round}`, share, round + 1]);
  await page.evaluate((count) => globalThis.bench.begin(count), rows);
  for (let round = 0; round <= rounds; round++) {
    const share = round === 0 ? WARM_UP : 1;
    for (const workload of steps) {
      for (const engine of inTurn(engines, round)) {
        if (impossible(engine, workload)) continue;
        if (round > 0) await pause();
        say(`${round === 0 ? "warming up" : `round ${round} of ${rounds}`}: ${workload}, ${engine}`);
        if (round > 0) await profiler?.start();
        const measured = await step(engine, workload, round, share);
        if (round > 0) await profiler?.stop(workload, measured);
        if (round > 0) figures.add(workload, engine, MILLISECONDS.has(workload) ? measured.ms : perOperation(measured));
      }
    }
    for (const engine of engines) {
      await step(engine, "close", round, share);
      await step(engine, "remove", round, share);
    }
  }
  await page.evaluate(() => globalThis.bench.end());
}

/** Each database on an origin of its own: the cost of loading, and its stored bytes. */
async function alone(browser, server, { engines, rows, rounds }, figures) {
  for (let round = 1; round <= rounds; round++) {
    for (const engine of rotate(engines, round)) {
      say(`round ${round} of ${rounds}: loading, ${engine}`);
      const page = await browser.open(`http://${engine}-${round}.localhost:${server.port}/`);
      await pause();
      const first = await page.evaluate((e) => globalThis.bench.firstOpen(e, "first"), engine);
      figures.add("firstOpen", engine, first.inside);
      // The stored bytes are measured once, with all rows. The first reads depend little on their number.
      await page.evaluate((count) => globalThis.bench.begin(count), round === 1 ? rows : Math.min(rows, 1000));
      const empty = await page.evaluate(() => globalThis.bench.usage());
      const step = (workload) => page.evaluate(([e, w]) => globalThis.bench.step(e, w, "alone", 1, 1), [engine, workload]);
      for (const workload of ["open", "bulk", "close"]) await step(workload);
      await page.evaluate(() => globalThis.bench.end());
      if (round === 1) figures.add("stored", engine, megabytes((await page.evaluate(() => globalThis.bench.usage())) - empty));
      const again = await page.evaluate(([e, id]) => globalThis.bench.firstRead(e, "alone", id), [engine, Math.min(rows, 500)]);
      figures.add("firstRead", engine, again.outside);
      await page.close();
    }
  }
  for (const engine of engines) figures.add("package", engine, server.gzipBytes(engine) / 1024);
}

/** Our package from a page, through the worker that it starts by itself, against a bare message there and back. */
async function fromPage(page, { rows, rounds, steps }, figures) {
  const step = (workload, share, seed) => page.evaluate(([w, s, n]) => globalThis.bench.remoteStep(w, s, n), [workload, share, seed]);
  for (let round = 0; round <= rounds; round++) {
    await page.evaluate(([n, d]) => globalThis.bench.remoteBegin(n, d), [rows, `page-${round}`]);
    // From a page each opening starts a worker: one figure of that is enough.
    for (const workload of steps.filter((name) => name !== "reopenPuts")) {
      say(`round ${round} of ${rounds}: ${workload}, from the page`);
      const measured = await step(workload, round === 0 ? WARM_UP : 1, round + 1);
      if (round === 0) continue;
      figures.add(workload === "reopen" ? "firstRead" : workload, "page", MILLISECONDS.has(workload) ? measured.ms : perOperation(measured));
      if (workload === "get") figures.add("trip", "page", await page.evaluate(() => globalThis.bench.roundTrip(3000)));
    }
    for (const workload of ["close", "remove"]) await step(workload, 1, round);
  }
}

/** The machine and the browser of the run. */
export function machineOf(browser) {
  return { chromium: browser.version, cpus: os.cpus().length, cpu: os.cpus()[0]?.model ?? "" };
}

/** Runs all wanted measurements. Returns the record for the reports, and the profiler if there is one. */
export async function compare(browser, server, wanted) {
  const started = new Date();
  const figures = new Figures();
  const page = await browser.open(`http://127.0.0.1:${server.port}/`);
  const profiler = wanted.profile ? await Profiler.attach(browser.context, page, wanted.out) : undefined;
  if (wanted.engines.length > 0) {
    await together(page, wanted, figures, profiler);
    if (wanted.loading) await alone(browser, server, wanted, figures);
  }
  if (wanted.page) await fromPage(page, wanted, figures);
  say("");
  const record = {
    time: started.toISOString(), rows: wanted.rows, rounds: wanted.rounds, backend: wanted["sqlite-idb"] ? "SQLite" : "LevelDB", machine: machineOf(browser),
    versions: versions(), wasmBytes: server.wasmBytes, engines: wanted.engines, page: wanted.page, medians: figures.medians(), samples: figures.samples,
  };
  return { record, profiler };
}
