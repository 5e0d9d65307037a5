// Runs each benchmark with very few rows, so that they do not rot: `npm test`. The figures mean nothing.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { report } from "../../tests/report.mjs";

const run = fileURLToPath(new URL("run.mjs", import.meta.url));
const RUNS = [
  {
    name: "the comparison",
    words: ["--rows", "200", "--rounds", "1", "--only", "tabstore,idb,page,follower", "--hand-overs", "1"],
    shows: /range scan[^\n]*\n[^]*package, gzip[^]*two followers at once[^]*is frozen +1 /,
    leaves: ["table.md", "chart.svg"],
  },
  {
    name: "cold reads",
    words: ["--cold", "--rows", "300", "--rounds", "1", "--only", "tabstore,sqlite"],
    shows: /100 keys a call[^]*10 rows from a key on[^]*the first scan[^]*each flushed[^]*the first 300 puts[^]*the first filter/,
    leaves: ["cold.md"],
  },
  { name: "growth", words: ["--growth", "--sizes", "300"], shows: /bytes on disk, per row/, leaves: ["growth.md"] },
  { name: "a million rows, 400 of them", words: ["--million", "--rows", "400"], shows: /Everything read was what was written/, leaves: ["million.md"] },
  { name: "both kinds of instance", words: ["--kinds", "--rows", "300"], shows: /stored bytes \(segments\)/, leaves: ["kinds.md"] },
  { name: "the chat", words: ["--chat", "--rows", "400", "--rounds", "1"], shows: /20 messages back[^]*catch up/, leaves: ["chat.md"] },
  {
    name: "live queries",
    words: ["--live", "--rows", "2000", "--rounds", "1"],
    shows: /notified after[^]*each put in one[^]*with a stream/,
    leaves: ["live.md"],
  },
  {
    name: "typed tables",
    words: ["--typed", "--rows", "200", "--rounds", "1"],
    shows: /put, one after another +memory [^]*scan of all rows[^\n]* indexeddb /,
    leaves: ["typed.md"],
  },
  { name: "the soak", words: ["--soak", "--minutes", "0.03"], shows: /rows were compared/, leaves: ["soak.md"] },
];

const out = mkdtempSync(path.join(os.tmpdir(), "tabstore-smoke-"));
let passed = 0;
let failed = 0;

async function one({ name, words, shows, leaves }) {
  const started = Date.now();
  const { error, text } = await new Promise((resolve) => {
    execFile(process.execPath, [run, ...words, "--no-judge", "--out", out], { timeout: 180_000 }, (problem, stdout, stderr) =>
      resolve({ error: problem, text: `${stdout}\n${stderr}` }),
    );
  });
  const good = error === null && shows.test(text) && leaves.every((file) => existsSync(path.join(out, file)));
  if (good) passed += 1;
  else failed += 1;
  report({ name, event: good ? "ok" : "failed", exec_time: (Date.now() - started) / 1000 });
  console.log(`${good ? "ok  " : "FAIL"}  ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)${good ? "" : `\n${text.replace(/^/gm, "      ")}`}`);
}

// Most of it is waiting, so they run side by side.
await Promise.all(RUNS.map(one));
rmSync(out, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
