// Compares the package with other databases in one Chromium run: `npm run bench -- [options]`, or `cargo xtask bench [options]`.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { chromium } from "playwright-core";

import { build, versions } from "./build.mjs";
import { Profiler } from "./profile.mjs";
import { PAGE_ROWS, ROWS, table } from "./report.mjs";

const HELP = `
cargo xtask bench [options]

  --rows N         rows of the loaded table (100000)
  --rounds N       rounds; the table shows medians (3)
  --only A,B       some of: tabstore idb dexie sqlite page
  --steps A,B      some of: open put inFlight indexed bulk get getMany scan reopen load (loading and stored bytes)
  --sqlite-idb     let Chromium keep IndexedDB in SQLite, as coming versions do, instead of LevelDB
  --profile        say where tabstore's time goes; writes target/bench/*.cpuprofile. Implies --only tabstore, one round
  --dist DIR       measure this build of the package (pkg/dist)
  --wasm FILE      serve this file as tabstore_bg.wasm: one with names, for --profile
  --json FILE      where the figures go (target/bench/TIME.json)
`;

const ENGINES = ["tabstore", "idb", "dexie", "sqlite"];
const STEPS = ["open", "put", "inFlight", "indexed", "bulk", "get", "getMany", "scan", "reopen"];
/** Steps that the others need. */
const ALWAYS = new Set(["open", "bulk"]);
/** The part of the work that is done once before, so that no code is measured cold. */
const WARM_UP = 0.2;
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--js-flags=--expose-gc",
];

const root = fileURLToPath(new URL("../..", import.meta.url));
const out = path.join(root, "target/bench");

function options() {
  const string = { type: "string" };
  const flag = { type: "boolean", default: false };
  const { values } = parseArgs({
    options: { rows: string, rounds: string, only: string, steps: string, dist: string, wasm: string, json: string, "sqlite-idb": flag, profile: flag, help: flag },
  });
  if (values.help) {
    console.log(HELP.trim());
    process.exit(0);
  }
  const number = (name, otherwise) => {
    const value = Number(values[name] ?? otherwise);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is ${values[name]}; it must be a positive integer`);
    return value;
  };
  const only = values.profile ? (values.only ?? "tabstore") : (values.only ?? [...ENGINES, "page"].join(","));
  const wanted = only.split(",");
  for (const name of wanted) if (!ENGINES.includes(name) && name !== "page") throw new Error(`--only: there is no '${name}'`);
  const steps = values.steps?.split(",");
  for (const name of steps ?? []) if (!STEPS.includes(name) && name !== "load") throw new Error(`--steps: there is no '${name}'`);
  return {
    ...values,
    dist: path.resolve(values.dist ?? path.join(root, "pkg/dist")),
    steps: STEPS.filter((name) => steps === undefined || ALWAYS.has(name) || steps.includes(name)),
    loading: !values.profile && (steps === undefined || steps.includes("load")),
    rows: number("rows", 100_000),
    rounds: number("rounds", values.profile ? 1 : 3),
    engines: ENGINES.filter((name) => wanted.includes(name)),
    page: wanted.includes("page"),
  };
}

/** Serves what was built, and the package as it is shipped. Nothing may be kept by the browser: loading is measured. */
async function serve(files, { dist, wasm }) {
  const types = { ".js": "text/javascript", ".wasm": "application/wasm", ".mjs": "text/javascript" };
  const server = http.createServer(({ url }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    let body = files.get(pathname);
    if (body === undefined && pathname.startsWith("/tabstore/")) {
      const name = path.basename(pathname);
      const file = name === "tabstore_bg.wasm" && wasm ? path.resolve(wasm) : path.join(dist, name);
      if (existsSync(file)) body = readFileSync(file);
    }
    response.writeHead(body === undefined ? 404 : 200, {
      "content-type": types[path.extname(pathname)] ?? "text/html; charset=utf-8",
      "cache-control": "no-store",
    });
    response.end(body ?? "not found");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Says how far it is, to whoever watches. */
function say(what) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${what} `);
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const rotate = (list, by) => list.map((_, i) => list[(i + by) % list.length]);

/** All figures of all rounds, by row of the table and by database. */
class Figures {
  samples = {};

  add(workload, engine, value) {
    ((this.samples[workload] ??= {})[engine] ??= []).push(value);
  }

  medians() {
    const of = (byEngine) => Object.fromEntries(Object.entries(byEngine).map(([engine, values]) => [engine, median(values)]));
    return Object.fromEntries(Object.entries(this.samples).map(([workload, byEngine]) => [workload, of(byEngine)]));
  }
}

const perOperation = ({ ms, operations }) => (ms * 1000) / operations;
const MILLISECONDS = new Set(["open", "reopen"]);

/** The shared worker: every workload of every database in turn, so that a noisy moment hits all. */
async function compare(page, { engines, rows, rounds, steps }, figures, profiler) {
  const step = (engine, workload, round, share) =>
    page.evaluate(([e, w, d, s, n]) => globalThis.bench.step(e, w, d, s, n), [engine, workload, `${engine}-${round}`, share, round + 1]);
  await page.evaluate((count) => globalThis.bench.begin(count), rows);
  for (let round = 0; round <= rounds; round++) {
    const share = round === 0 ? WARM_UP : 1;
    for (const workload of steps) {
      for (const engine of rotate(engines, round)) {
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

/** Each database on an origin of its own: what loading costs, and what it stores. */
async function alone(context, address, { engines, rows, rounds }, figures) {
  for (let round = 1; round <= rounds; round++) {
    for (const engine of rotate(engines, round)) {
      say(`round ${round} of ${rounds}: loading, ${engine}`);
      const page = await openPage(context, `http://${engine}-${round}.localhost:${address}/`);
      const first = await page.evaluate((e) => globalThis.bench.firstOpen(e, "first"), engine);
      figures.add("firstOpen", engine, first.inside);
      await page.evaluate((count) => globalThis.bench.begin(count), round === 1 ? rows : Math.min(rows, 1000));
      const empty = await page.evaluate(() => globalThis.bench.usage());
      const step = (workload) => page.evaluate(([e, w]) => globalThis.bench.step(e, w, "alone", 1, 1), [engine, workload]);
      for (const workload of ["open", "bulk", "close"]) await step(workload);
      await page.evaluate(() => globalThis.bench.end());
      if (round === 1) figures.add("stored", engine, (await page.evaluate(() => globalThis.bench.usage()) - empty) / 1e6);
      const again = await page.evaluate((e) => globalThis.bench.firstRead(e, "alone", 500), engine);
      figures.add("firstRead", engine, again.outside);
      await page.close();
    }
  }
}

/** Our package from a page, through the worker that it starts by itself, against a bare message there and back. */
async function fromPage(page, { rows, rounds, steps }, figures) {
  const step = (workload, share, seed) => page.evaluate(([w, s, n]) => globalThis.bench.remoteStep(w, s, n), [workload, share, seed]);
  for (let round = 0; round <= rounds; round++) {
    await page.evaluate(([n, d]) => globalThis.bench.remoteBegin(n, d), [rows, `page-${round}`]);
    for (const workload of steps.filter((name) => name !== "reopen")) {
      say(`round ${round} of ${rounds}: ${workload}, from the page`);
      const measured = await step(workload, round === 0 ? WARM_UP : 1, round + 1);
      if (round > 0) figures.add(workload, "page", MILLISECONDS.has(workload) ? measured.ms : perOperation(measured));
      if (round > 0 && workload === "get") figures.add("get", "trip", await page.evaluate(() => globalThis.bench.roundTrip(3000)));
    }
    for (const workload of ["close", "remove"]) await step(workload, 1, round);
  }
}

async function openPage(context, address) {
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(`\n${error.stack ?? error}`));
  page.on("console", (message) => {
    // SQLite says which of its storages need headers that its pool does not need, Dexie that closing takes a moment.
    if ((message.type() === "error" || message.type() === "warning") && !/sqlite3_vfs|was blocked/.test(message.text())) console.error(`\n${message.type()}: ${message.text()}`);
  });
  page.setDefaultTimeout(0);
  await page.goto(address);
  await page.waitForFunction(() => globalThis.bench !== undefined);
  return page;
}

async function main() {
  const wanted = options();
  if (!existsSync(path.join(wanted.dist, "index.js"))) throw new Error(`${wanted.dist} is empty: run \`cargo xtask build\` first`);
  mkdirSync(out, { recursive: true });
  const server = await serve(await build(), wanted);
  const { port } = server.address();
  const profile = mkdtempSync(path.join(os.tmpdir(), "tabstore-bench-"));
  const flags = wanted["sqlite-idb"] ? [...FLAGS, "--enable-features=IdbSqliteBackingStore,IdbSqliteOnDiskRollout"] : FLAGS;
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROME ?? "/usr/bin/chromium", headless: true, args: flags,
  });
  const started = new Date();
  try {
    const figures = new Figures();
    const page = await openPage(context, `http://127.0.0.1:${port}/`);
    const profiler = wanted.profile ? await Profiler.attach(context, page, out) : undefined;
    if (wanted.engines.length > 0) {
      await compare(page, wanted, figures, profiler);
      if (wanted.loading) await alone(context, port, wanted, figures);
    }
    if (wanted.page) await fromPage(page, wanted, figures);
    say("");

    const medians = figures.medians();
    const machine = { chromium: context.browser()?.version() ?? "", cpus: os.cpus().length, cpu: os.cpus()[0]?.model ?? "" };
    const backend = wanted["sqlite-idb"] ? "SQLite" : "LevelDB";
    console.log(`${wanted.rows} rows of 6 columns, median of ${wanted.rounds}; Chromium ${machine.chromium}, IndexedDB on ${backend}, ${machine.cpus} CPUs`);
    console.log(table(medians, [...ROWS, ...(wanted.page ? PAGE_ROWS : [])], wanted.engines));
    const record = {
      time: started.toISOString(), rows: wanted.rows, rounds: wanted.rounds, backend, machine, versions: versions(), wasmBytes: statSync(path.join(wanted.dist, "tabstore_bg.wasm")).size,
      medians, samples: figures.samples,
    };
    const file = path.resolve(wanted.json ?? path.join(out, `${started.toISOString().replace(/[:.]/g, "-")}.json`));
    writeFileSync(file, `${JSON.stringify(record, null, 1)}\n`);
    console.log(`\nFigures of all rounds: ${path.relative(root, file)}`);
    profiler?.report();
  } finally {
    await context.close();
    server.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

await main();
