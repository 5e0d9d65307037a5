// The Azure Table service beside Azurite, through the same client: `npm run bench -- [options]`.

import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { exposeGc } from "../browser/lib/collect.mjs";
import { checkBuilt } from "../browser/lib/server.mjs";
import { columns, markdown, say } from "../browser/lib/statistics.mjs";
import { measure as inBrowser } from "./lib/browser.mjs";
import { measure as inNode } from "./lib/node.mjs";
import { compared, durable } from "./lib/table.mjs";

const HELP = `
npm run bench -- [options]

Compares TabStore with Azurite in Node, both in memory, through @azure/data-tables:
  --sizes A,B      entities in each table (1000,30000)
  --rounds N       rounds; the table shows medians (7)
  --share X        this part of the usual number of operations in a round (1)
  --browser        TabStore in a page of Chromium, on IndexedDB, instead; needs the packages of benches/browser
  --no-judge       say what misses its target, and do not fail; wrong answers fail always
  --dist DIR       measure this build of the package (pkg/dist)
  --out DIR        where tables and figures go (target/bench)
`;

const root = fileURLToPath(new URL("../..", import.meta.url));

function options() {
  const string = { type: "string" };
  const flag = { type: "boolean", default: false };
  const { values } = parseArgs({ options: { sizes: string, rounds: string, share: string, dist: string, out: string, browser: flag, "no-judge": flag, help: flag } });
  if (values.help) {
    console.log(HELP.trim());
    process.exit(0);
  }
  const number = (name, value, least) => {
    if (!(Number(value) >= least)) throw new Error(`--${name} is ${value}; it must be a number of at least ${least}`);
    return Number(value);
  };
  return {
    ...values,
    sizes: (values.sizes ?? "1000,30000").split(",").map((size) => number("sizes", size, 100)),
    count: number("rounds", values.rounds ?? 7, 1),
    share: number("share", values.share ?? 1, 0),
    dist: path.resolve(values.dist ?? path.join(root, "pkg/dist")),
    out: path.resolve(values.out ?? path.join(root, "target/bench")),
  };
}

async function main() {
  const wanted = options();
  checkBuilt(wanted.dist);
  mkdirSync(wanted.out, { recursive: true });
  exposeGc();
  const load = os.loadavg()[0];
  const sizes = {};
  for (const size of wanted.sizes) sizes[size] = await (wanted.browser ? inBrowser : inNode)({ ...wanted, size, say });
  say("");
  const { head, lines, failures } = (wanted.browser ? durable : compared)(sizes);
  const where = wanted.browser ? "TabStore in a page of Chromium on IndexedDB" : `TabStore and Azurite in memory, Node ${process.version}`;
  console.log(`${where}; medians of ${wanted.count} rounds; load ${load.toFixed(1)} before, ${os.loadavg()[0].toFixed(1)} after, ${os.cpus().length} processors\n`);
  console.log(columns(head, lines));
  const name = wanted.browser ? "azure-browser" : "azure";
  writeFileSync(path.join(wanted.out, `${name}.md`), `${markdown(head, lines)}\n`);
  writeFileSync(path.join(wanted.out, `${name}.json`), `${JSON.stringify({ load, sizes }, null, 1)}\n`);
  for (const failure of failures) console.log(`MISSED: ${failure}`);
  if (failures.length > 0 && !wanted["no-judge"]) process.exitCode = 1;
}

await main();
