// Typed tables beside the calls of the service, in memory: `npm run typed -- [options]`. In a browser: `cargo xtask bench --typed`.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { build } from "esbuild";

import { exposeGc } from "../browser/lib/collect.mjs";
import { checkBuilt } from "../browser/lib/server.mjs";
import { report, turns } from "../browser/lib/typed-turns.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = fileURLToPath(new URL(".", import.meta.url));
const string = { type: "string" };
const { values } = parseArgs({ options: { rows: string, rounds: string, dist: string, out: string, "no-judge": { type: "boolean", default: false } } });
const dist = path.resolve(values.dist ?? path.join(root, "pkg/dist"));
const out = path.resolve(values.out ?? path.join(root, "target/bench"));

checkBuilt(dist);
exposeGc();
const file = path.join(folder, "node_modules/.typed.mjs");
const at = (name) => ({ path: pathToFileURL(path.join(dist, name)).href, external: true });
const ours = {
  name: "ours",
  setup({ onResolve }) {
    onResolve({ filter: /^tabstore$/ }, () => at("node.js"));
    onResolve({ filter: /^tabstore\/schema$/ }, () => at("schema.js"));
  },
};
await build({ absWorkingDir: folder, entryPoints: ["../browser/src/typed.ts"], outfile: file, bundle: true, format: "esm", platform: "node", target: "node24", plugins: [ours], logLevel: "error" });
const { typed } = await import(pathToFileURL(file).href);
const memory = await turns((tool, ...rest) => typed[tool](...rest), "memory", { rows: Number(values.rows ?? 5000), rounds: Number(values.rounds ?? 3) });
const { text, failures } = report({ memory }, `Node ${process.versions.node}.`);
mkdirSync(out, { recursive: true });
writeFileSync(path.join(out, "typed-node.md"), `${text}\n`);
for (const failure of failures) console.log(`OVER THE LIMIT: ${failure}`);
process.exit(failures.length > 0 && !values["no-judge"] ? 1 : 0);
