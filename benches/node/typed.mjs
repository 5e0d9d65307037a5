// Typed tables beside the calls of the service, in memory: `npm run typed -- [options]`. In a browser: `cargo xtask bench --typed`.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { exposeGc } from "../browser/lib/collect.mjs";
import { checkBuilt } from "../browser/lib/server.mjs";
import { report, turns } from "../browser/lib/typed-turns.mjs";
import { load, options } from "./lib/setup.mjs";

const HELP = `
npm run typed -- [options]

Compares typed tables with the calls of the service, turn by turn:
  --rows N         rows of each table, at most 5000 (5000)
  --rounds N       rounds; the table shows medians of all turns (3)
  --no-judge       say what is over the limit, and do not fail
  --dist DIR       measure this build of the package (pkg/dist)
  --out DIR        where the table goes (target/bench)
`;

const wanted = options(HELP, { rows: 5000, rounds: 3 }, ["no-judge"]);
checkBuilt(wanted.dist);
mkdirSync(wanted.out, { recursive: true });
exposeGc();
const { typed } = await load("../browser/src/typed.ts", wanted.dist);
const memory = await turns((tool, ...rest) => typed[tool](...rest), "memory", wanted);
const { text, failures } = report({ memory }, `Node ${process.versions.node}.`);
writeFileSync(path.join(wanted.out, "typed-node.md"), `${text}\n`);
for (const failure of failures) console.log(`OVER THE LIMIT: ${failure}`);
process.exit(failures.length > 0 && !wanted["no-judge"] ? 1 : 0);
