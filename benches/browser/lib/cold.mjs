// Reads of a table much larger than the cache, and puts that wait for the device; each sample in a browser of its own.

import { Browser } from "./browser.mjs";
import { machineOf, rotate } from "./compare.mjs";
import { columns, figure, markdown, median, say, times } from "./statistics.mjs";
import { COLD } from "./table.mjs";

/** PGlite has all of its files in memory, so nothing that it reads is cold. */
const READERS = new Set(["tabstore", "files", "idb", "sqlite"]);
const WRITERS = new Set([...READERS, "pglite"]);
/** A sample is discarded if its machine was slower than the fastest by more than this. */
const MOST = 1.3;

const ROWS = [
  ["coldGet", "get by key, one after another", "us", READERS],
  ["coldMany", "get, 100 keys a call, per row", "us", READERS],
  ["coldFew", "10 rows from a key on", "us", READERS],
  ["coldScan", "the first scan of all rows, per row", "us", READERS],
  ["strict", "put, one after another, each flushed", "us", WRITERS],
  // In a new worker each: what a short session sees.
  ["firstPuts", "the first 300 puts of a worker", "us", READERS],
  ["firstGets", "the first 300 gets of a worker", "us", READERS],
  ["firstScan", "the first scan of a worker, per row", "us", READERS],
  ["firstFilter", "the first filter of a worker, 1 % passes, per row read", "us", READERS],
];

/** The lines of a worker's first work, with the workload that is measured. */
const FIRSTS = [
  ["firstPuts", "firstPuts"],
  ["firstGets", "firstGets"],
  ["firstScan", "scan"],
  ["firstFilter", "filter"],
];

/** One sample of a database: its figures, and what the machine was doing before. */
async function sample(server, wanted, engine, round) {
  const browser = await Browser.start(wanted["sqlite-idb"]);
  try {
    let page;
    const begin = async () => {
      await page?.close();
      page = await browser.open(`http://127.0.0.1:${server.port}/`);
      await page.evaluate((rows) => globalThis.bench.begin(rows), wanted.rows);
    };
    await begin();
    const probe = await page.evaluate(() => globalThis.bench.probe());
    const step = async (workload, database) => {
      say(`round ${round + 1} of ${wanted.rounds}: ${workload}, ${engine}`);
      const { ms, operations } = await page.evaluate(([e, w, d, n]) => globalThis.bench.step(e, w, d, 1, n), [engine, workload, database, round + 1]);
      return (ms * 1000) / operations;
    };
    const figures = {};
    if (READERS.has(engine)) {
      // Opened anew, so that nothing of the load is in memory. As many gets of other rows before: browsers compile what
      // reads and decodes a block for speed only after some thousand times.
      for (const workload of ["openSmall", "bulk", "close", "openSmall", "warmGet"]) await step(workload, "cold");
      for (const workload of ["coldGet", "coldMany", "coldFew"]) figures[workload] = await step(workload, "cold");
      await step("close", "cold");
      await step("openSmall", "cold");
      figures.coldScan = await step("scan", "cold");
      await step("close", "cold");
    }
    await step("openStrict", "strict");
    figures.strict = await step("strict", "strict");
    await step("close", "strict");
    for (const [line, workload] of READERS.has(engine) ? FIRSTS : []) {
      await begin();
      await step("open", "cold");
      figures[line] = await step(workload, "cold");
      await step("close", "cold");
    }
    return { engine, round, probe, figures, machine: machineOf(browser) };
  } finally {
    await browser.stop();
  }
}

/** The table of all databases beside ours, without the samples of a slow machine, which it names. */
export async function cold(server, wanted) {
  const engines = wanted.engines.filter((name) => WRITERS.has(name));
  const samples = [];
  for (let round = 0; round < wanted.rounds; round++) for (const engine of rotate(engines, round)) samples.push(await sample(server, wanted, engine, round));
  say("");
  const fastest = Math.min(...samples.map(({ probe }) => probe.cpu));
  const isDiscarded = ({ probe }) => probe.cpu > fastest * MOST;
  const figuresOf = (workload, engine) => samples.filter((one) => one.engine === engine && !isDiscarded(one)).map(({ figures }) => figures[workload]);
  const head = ["", "unit", ...engines.map((name) => COLD[name])];
  const lines = ROWS.map(([workload, what, unit, asked]) => {
    const [mine, ...others] = engines.map((name) => (asked.has(name) ? median(figuresOf(workload, name)) : undefined));
    return [what, unit, figure(mine), ...others.map((value) => figure(value) + (Number.isFinite(value / mine) ? ` (${times(value / mine)})` : ""))];
  });
  const flushes = samples.map(({ probe }) => probe.flush);
  const gone = samples
    .filter(isDiscarded)
    .map(({ engine, round, probe }) => `${COLD[engine]} in round ${round + 1} (${times(probe.cpu / fastest)} the arithmetic)`);
  const caption = [
    `${wanted.rows.toLocaleString("en")} rows of 6 columns, about 150 bytes, read with caches of 4 MB, after as many gets of other rows; medians of ${wanted.rounds} rounds, each sample in a new profile; a worker's first work on the same table with usual caches.`,
    `Headless Chromium ${samples[0].machine.chromium}, IndexedDB on ${wanted["sqlite-idb"] ? "SQLite" : "LevelDB"}, ${samples[0].machine.cpus} CPUs.`,
    `A bare flush of 4 KB in a file took ${figure(Math.min(...flushes))} to ${figure(Math.max(...flushes))} us.`,
    `Discarded: ${gone.join(", ") || "none"}.`,
  ].join(" ");
  console.log(`${caption}\n${columns(head, lines, [0, 1])}`);
  return { record: { rows: wanted.rows, samples }, text: `${caption}\n\n${markdown(head, lines, [0, 1])}` };
}
