// Runs the benchmarks with very few entities, so that they do not rot: `npm test`. The figures mean nothing.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { report } from "../../tests/report.mjs";

const out = mkdtempSync(path.join(os.tmpdir(), "tabstore-smoke-"));
const FEW = ["--sizes", "100,200", "--rounds", "1", "--share", "0.02", "--no-judge", "--out", out];
const RUNS = [
  { name: "TabStore beside Azurite", words: ["run.mjs", ...FEW], shows: /Azurite ÷ TabStore[^]*a page of 1,000 entities +200 [^]*a range of 10 keys +200 /, leaves: ["azure.md", "azure.json"] },
  { name: "the same in a page", words: ["run.mjs", ...FEW, "--browser"], shows: /strict − client[^]*a range of 10 keys +200 /, leaves: ["azure-browser.md", "azure-browser.json"] },
  { name: "the servers of both", words: ["serve.mjs", "--rounds", "1", "--seconds", "0.1"], shows: /put an entity +1 +[1-9][^]*a page of 1,000 entities +64 +[1-9]/, leaves: [] },
];
let passed = 0;
let failed = 0;
for (const { name, words, shows, leaves } of RUNS) {
  const [script, ...options] = words;
  const started = Date.now();
  const { error, text } = await new Promise((resolve) => {
    const all = [fileURLToPath(new URL(script, import.meta.url)), ...options];
    execFile(process.execPath, all, { timeout: 180_000 }, (problem, stdout, stderr) => resolve({ error: problem, text: `${stdout}\n${stderr}` }));
  });
  const good = error === null && shows.test(text) && leaves.every((file) => existsSync(path.join(out, file)));
  if (good) passed += 1;
  else failed += 1;
  report({ name, event: good ? "ok" : "failed", exec_time: (Date.now() - started) / 1000 });
  console.log(`${good ? "ok  " : "FAIL"}  ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)${good ? "" : `\n${text.replace(/^/gm, "      ")}`}`);
}
rmSync(out, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
