// Storage in files beside the SQLite of Node: `npm run bench -- [options]`.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { exposeGc } from "../browser/lib/collect.mjs";
import { checkBuilt } from "../browser/lib/server.mjs";
import { columns, Figures, figure, markdown, megabytes, say, times } from "../browser/lib/statistics.mjs";
import { ROWS } from "../browser/lib/table.mjs";
import { load, options } from "./lib/setup.mjs";

const HELP = `
npm run bench -- [options]

Compares TabStore in files of a folder with node:sqlite on the same disk, step by step in turn:
  --rows N         rows of the loaded table (100000)
  --rounds N       rounds; the table shows medians (5)
  --dist DIR       measure this build of the package (pkg/dist)
  --out DIR        where tables and figures go (target/bench)
`;

/** All steps. Those without a line in the table work for the next. */
const STEPS = ["open", "put", "inFlight", "bulk", "get", "getMany", "scan", "filter", "column", "reopen", "reopenPuts", "close", "openStrict", "strict", "close"];

/** The lines of the table, by workload: as in a browser, but for the strict puts. */
const LINES = new Map([...ROWS, { workload: "strict", what: "put, one after another, each flushed", unit: "us" }].map((line) => [line.workload, line]));
const NAMES = { tabstore: "TabStore", sqlite: "node:sqlite" };
const WARM_UP = 0.2;

function bytesIn(place) {
  return readdirSync(place, { withFileTypes: true, recursive: true }).reduce((sum, entry) => sum + (entry.isFile() ? statSync(path.join(entry.parentPath, entry.name)).size : 0), 0);
}

async function main() {
  const wanted = options(HELP, { rows: 100_000, rounds: 5 });
  checkBuilt(wanted.dist);
  mkdirSync(wanted.out, { recursive: true });
  exposeGc();
  const place = mkdtempSync(path.join(os.tmpdir(), "tabstore-node-bench-"));
  const figures = new Figures();
  try {
    const { engines: enginesIn, rowsFrom, WORKLOADS, WRITES } = await load("src/main.ts", wanted.dist);
    const engines = enginesIn(place);
    const all = rowsFrom(1, wanted.rows);
    const names = Object.keys(engines);
    for (let round = 0; round <= wanted.rounds; round++) {
      const share = round === 0 ? WARM_UP : 1;
      const rows = all.slice(0, Math.max(200, Math.round(all.length * share)));
      for (const workload of STEPS) {
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
          say(`${round === 0 ? "warming up" : `round ${round} of ${wanted.rounds}`}: ${workload}, ${NAMES[name]}`);
          const engine = engines[name];
          const { ms, operations } = await WORKLOADS[workload]({ engine, database: `round-${round}`, rows, share, seed: round + 1 });
          const unit = LINES.get(workload)?.unit;
          if (round > 0 && unit !== undefined) figures.add(workload, name, unit === "ms" ? ms : (ms * 1000) / operations);
          if (WRITES.has(workload)) await engine.settle?.();
          globalThis.gc();
        }
      }
      for (const name of names) {
        if (round > 0) figures.add("stored", name, megabytes(bytesIn(path.join(place, name))));
        await engines[name].remove(`round-${round}`);
      }
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  say("");
  const medians = figures.medians();
  const lines = Object.entries(medians).map(([workload, { tabstore, sqlite }]) => {
    const { what, unit } = LINES.get(workload);
    return [what, unit, figure(tabstore), `${figure(sqlite)} (${times(sqlite / tabstore)})`];
  });
  const caption = `${wanted.rows.toLocaleString("en")} rows of 6 columns, about 150 bytes; medians of ${wanted.rounds} rounds. Node ${process.versions.node}, SQLite ${process.versions.sqlite} with WAL and synchronous=normal, ${os.cpus().length} CPUs.`;
  const head = ["", "unit", NAMES.tabstore, NAMES.sqlite];
  console.log(`${caption}\n${columns(head, lines, [0, 1])}`);
  writeFileSync(path.join(wanted.out, "node.md"), `${caption}\n\n${markdown(head, lines, [0, 1])}\n`);
  writeFileSync(path.join(wanted.out, `node-${new Date().toISOString().replace(/[:.]/g, "-")}.json`), `${JSON.stringify({ ...wanted, medians, samples: figures.samples }, null, 1)}\n`);
}

await main();
