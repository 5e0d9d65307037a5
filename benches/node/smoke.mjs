// Runs the benchmarks with very few rows, so that they do not rot: `npm test`. The figures mean nothing.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { report } from "../../tests/report.mjs";

const out = mkdtempSync(path.join(os.tmpdir(), "tabstore-smoke-"));
const ONCE = ["--rounds", "1", "--out", out];
const RUNS = [
  {
    name: "storage in files beside node:sqlite",
    script: "run.mjs",
    words: ["--rows", "1000", ...ONCE],
    shows: /node:sqlite[^]*put, one after another +us [^]*each flushed +us [^]*bytes on disk/,
    leaves: "node.md",
  },
  {
    name: "typed tables beside the calls of the service",
    script: "typed.mjs",
    words: ["--rows", "200", "--no-judge", ...ONCE],
    shows: /put, one after another +memory [^]*scan of all rows, per row +memory /,
    leaves: "typed-node.md",
  },
  {
    name: "imports beside Papa Parse with node:sqlite",
    script: "imports.mjs",
    words: ["--rows", "500", ...ONCE],
    shows: /us a row +TabStore +SQLite[^]*csv [^]*ndjson [^]*json /,
    leaves: "imports.md",
  },
  {
    name: "the server of the official SDKs",
    script: "serve.mjs",
    words: ["--seconds", "0.1"],
    shows: /put +1 +\d+ [^]*range of 5,000 rows +64 +[1-9]/,
  },
];

let passed = 0;
for (const { name, script, words, shows, leaves } of RUNS) {
  let good = false;
  try {
    const run = fileURLToPath(new URL(script, import.meta.url));
    const text = execFileSync(process.execPath, [run, ...words], { encoding: "utf8", timeout: 60_000 });
    good = shows.test(text) && (leaves === undefined || existsSync(path.join(out, leaves)));
    if (!good) console.log(text);
  } catch (error) {
    console.log(error.message);
  }
  if (good) passed += 1;
  report({ name, event: good ? "ok" : "failed", exec_time: 0 });
  console.log(`${good ? "ok  " : "FAIL"}  ${name}`);
}
rmSync(out, { recursive: true, force: true });
console.log(`${passed} passed, ${RUNS.length - passed} failed`);
process.exit(passed === RUNS.length ? 0 : 1);
