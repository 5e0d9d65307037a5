// Compares the package with the other databases.

import os from "node:os";

import { versions } from "./build.mjs";
import { handOver, loadSupport } from "./hand-over.mjs";
import { Profiler } from "./profile.mjs";
import { Figures, megabytes, say } from "./statistics.mjs";

export const STEPS = [
  "open",
  "put",
  "inFlight",
  "indexed",
  "bulk",
  "get",
  "getMany",
  "scan",
  "filter",
  "column",
  "reopen",
  "reopenPuts",
  "manyPuts",
  "lateGet",
  "handOver",
];
/** Steps that the others need. */
export const ALWAYS = new Set(["open", "bulk"]);
/** The part of the work that is done once before, so that code is warm when it is measured. */
const WARM_UP = 0.2;
/**
 * The databases for some steps. Of filters and columns: one that only has scans, and those that have a language for it. The
 * steps that take long are for few too.
 */
const FEW = ["tabstore", "idb", "sqlite"];
const CHOSEN = { filter: FEW, column: FEW, manyPuts: FEW, lateGet: FEW };
const impossible = (engine, workload) => (engine === "localforage" && workload === "indexed") || CHOSEN[workload]?.includes(engine) === false;
/** Steps that are not measured from pages. From a page each opening starts a worker: one figure of that is enough. */
const NOT_FROM_PAGES = new Set(["manyPuts", "lateGet", "reopenPuts", "handOver"]);
const MILLISECONDS = new Set(["open", "reopen", "reopenPuts"]);

const perOperation = ({ ms, operations }) => (ms * 1000) / operations;
/** The same list, beginning elsewhere. */
export const rotate = (list, by) => list.map((_, i) => list[(i + by) % list.length]);
/** Every other round runs in reverse, so that no database always follows the same one. */
const inTurn = (list, round) => rotate(round % 2 === 0 ? list : list.toReversed(), round);
/** The pause before each measurement, in ms. Some databases answer before all is stored, and store it in the time of the next. */
const PAUSE = 500;
/** Bare messages there and back. */
const TRIPS = 3000;
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));

/** The shared worker: every workload of every database in turn, so that a noisy moment hits all. */
async function together(page, { engines, rows, rounds, steps }, figures, profiler) {
  const step = (engine, workload, round, share) =>
    page.evaluate(([e, w, d, s, n]) => globalThis.bench.step(e, w, d, s, n), [engine, workload, `${engine}-${round}`, share, round + 1]);
  await page.evaluate((count) => globalThis.bench.begin(count), rows);
  for (let round = 0; round <= rounds; round++) {
    const share = round === 0 ? WARM_UP : 1;
    for (const workload of steps.filter((name) => name !== "handOver")) {
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

/**
 * Our package from pages: from one whose worker has the engine, and from one that follows it, on an instance for each; against
 * bare messages there and back. Of the second instance the leader's page does nothing else, but for what it does at once.
 */
async function fromPages(open, leader, { rows, rounds, steps, page, follower }, figures) {
  const [second, third] = follower ? [await open(), await open()] : [];
  let round;
  const begin = (tab, database) => tab.evaluate(([n, d]) => globalThis.bench.remoteBegin(n, d), [rows, database]);
  const step = (tab, database, workload) =>
    tab.evaluate(([d, w, s, n]) => globalThis.bench.remoteStep(d, w, s, n), [database, workload, round === 0 ? WARM_UP : 1, round + 1]);
  const keep = (workload, from, value) => round > 0 && figures.add(workload, from, value);
  const aloneStep = async (workload, database) => {
    const measured = await step(leader, database, workload);
    keep(workload === "reopen" ? "firstRead" : workload, "page", MILLISECONDS.has(workload) ? measured.ms : perOperation(measured));
    if (workload === "get") keep("trip", "page", await leader.evaluate((n) => globalThis.bench.trip(n), TRIPS));
  };
  const followerStep = async (workload, database) => {
    keep(workload, "follower", perOperation(await step(second, database, workload)));
    if (workload !== "get") return;
    await leader.evaluate(() => globalThis.bench.hear());
    keep("trip", "follower", await second.evaluate((n) => globalThis.bench.tripThere(n), TRIPS));
    await leader.evaluate(() => globalThis.bench.hearNoMore());
  };
  const scans = (tabs, database) => Promise.all(tabs.map(async (tab) => perOperation(await step(tab, database, "scan"))));
  const together = async (database) => {
    const [own, other] = await scans([leader, second], database);
    keep("scanBeside", "page", own);
    keep("scanBeside", "follower", other);
    await pause();
    for (const one of await scans([second, third], database)) keep("scanTwo", "follower", one);
  };
  for (round = 0; round <= rounds; round++) {
    const databases = { page: `page-${round}`, follower: `shared-${round}` };
    if (page) await begin(leader, databases.page);
    if (follower) {
      for (const tab of [leader, second, third]) {
        await begin(tab, databases.follower);
        await step(tab, databases.follower, "open");
      }
      const roles = await Promise.all([leader, second, third].map((tab) => tab.evaluate((d) => globalThis.bench.role(d), databases.follower)));
      if (roles.join() !== "leader,follower,follower") throw new Error(`the pages are ${roles.join(", ")}`);
    }
    for (const workload of steps.filter((name) => !NOT_FROM_PAGES.has(name))) {
      const ways = [page && ["page", aloneStep], follower && !MILLISECONDS.has(workload) && ["follower", followerStep]];
      for (const [from, measure] of inTurn(ways.filter(Boolean), round)) {
        if (round > 0) await pause();
        say(`round ${round} of ${rounds}: ${workload}, from the ${from}`);
        await measure(workload, databases[from]);
      }
      if (follower && workload === "scan") {
        if (round > 0) await pause();
        await together(databases.follower);
      }
    }
    if (page) await step(leader, databases.page, "close");
    if (follower) for (const tab of [third, second, leader]) await step(tab, databases.follower, "close");
    for (const from of [page && "page", follower && "follower"].filter(Boolean))
      await leader.evaluate((d) => globalThis.bench.remoteRemove(d), databases[from]);
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
  const handsOver = wanted.follower && wanted.steps.includes("handOver");
  if (handsOver) await loadSupport();
  const open = () => browser.open(`http://127.0.0.1:${server.port}/`);
  const page = await open();
  const profiler = wanted.profile ? await Profiler.attach(browser.context, page, wanted.out) : undefined;
  if (wanted.engines.length > 0) {
    await together(page, wanted, figures, profiler);
    if (wanted.loading) await alone(browser, server, wanted, figures);
  }
  if (wanted.page || wanted.follower) await fromPages(open, page, wanted, figures);
  const waits = handsOver ? await handOver(wanted) : undefined;
  say("");
  const record = {
    time: started.toISOString(),
    rows: wanted.rows,
    rounds: wanted.rounds,
    backend: wanted["sqlite-idb"] ? "SQLite" : "LevelDB",
    machine: machineOf(browser),
    versions: versions(),
    wasmBytes: server.wasmBytes,
    engines: wanted.engines,
    page: wanted.page,
    follower: wanted.follower,
    waits,
    medians: figures.medians(),
    samples: figures.samples,
  };
  return { record, profiler };
}
