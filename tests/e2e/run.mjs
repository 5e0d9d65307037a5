// Runs the end-to-end tests: `node run.mjs [words of names]`.

import { readdirSync } from "node:fs";

import { runAll } from "./support/harness.mjs";

const folder = new URL("./tests/", import.meta.url);
for (const name of readdirSync(folder).filter((file) => file.endsWith(".mjs")).sort()) await import(new URL(name, folder));

process.exit((await runAll(process.argv.slice(2))) ? 0 : 1);
