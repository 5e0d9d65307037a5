// Runs the end-to-end tests: `node run.mjs [words of names]`.
//
// E2E_KILLS: how often browsers are killed while they write (8; 200 is a long run). E2E_SEED: when they are.
// E2E_KEEP=1: profiles stay, to look into.

import { readdirSync } from "node:fs";

import { runAll } from "./support/harness.mjs";

const folder = new URL("./tests/", import.meta.url);
for (const name of readdirSync(folder).filter((file) => file.endsWith(".mjs")).sort()) await import(new URL(name, folder));

process.exit((await runAll(process.argv.slice(2))) ? 0 : 1);
