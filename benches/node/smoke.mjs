// Runs the benchmark with very few rows, so that it does not rot: `npm test`. The figures mean nothing.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { report } from "../../tests/report.mjs";

const run = fileURLToPath(new URL("run.mjs", import.meta.url));
const out = mkdtempSync(path.join(os.tmpdir(), "tabstore-smoke-"));
let good = false;
try {
  const text = execFileSync(process.execPath, [run, "--rows", "1000", "--rounds", "1", "--out", out], { encoding: "utf8", timeout: 60_000 });
  good = /node:sqlite[^]*put, one after another +us [^]*each flushed +us [^]*bytes on disk/.test(text) && existsSync(path.join(out, "node.md"));
  if (!good) console.log(text);
} catch (error) {
  console.log(error.message);
}
rmSync(out, { recursive: true, force: true });
report({ name: "storage in files beside node:sqlite", event: good ? "ok" : "failed", exec_time: 0 });
console.log(`${good ? "ok  " : "FAIL"}  storage in files beside node:sqlite\n${good ? 1 : 0} passed, ${good ? 0 : 1} failed`);
process.exit(good ? 0 : 1);
