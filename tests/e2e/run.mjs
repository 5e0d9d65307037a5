// Runs the end-to-end tests.
//
//   node run.mjs [words]                    what the test command runs: all tests in Chromium, a part of them in the others
//   node run.mjs --engine firefox [words]   all tests in one engine: chromium, firefox or webkit; `all` for one after another
//
//   node run.mjs --times 200 [words]        a long run: only the tests that kill, hand over and freeze, as often; --engine before it
//
// With words, only the tests whose names contain one of them, of all files.
//
// E2E_SEED: when browsers are killed. E2E_KEEP=1: profiles stay, to look into.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ENGINES = ["chromium", "firefox", "webkit"];

/**
 * The files whose tests the test command runs in Firefox and WebKit too, in about two minutes each. They depend most on the
 * engine: browsers that are killed, tabs that share and inherit an instance, locks, ports, channels and workers that end, other
 * contexts than a page, and the witnesses and the space of an instance. All files take minutes more.
 */
const CHOSEN = ["20-kills", "30-tabs", "35-hand-over", "45-contexts", "46-lost", "48-storage"];

const folder = new URL("./tests/", import.meta.url);
const words = process.argv.slice(2);
const asked = words[0] === "--engine" ? words.splice(0, 2)[1] : undefined;
if (words[0] === "--times") {
  const [, times] = words.splice(0, 2);
  if (!(Number(times) >= 1)) throw new Error(`--times is ${times}; it must be a number of at least 1`);
  process.env.E2E_TIMES = times;
}

if (ENGINES.includes(asked)) {
  process.env.E2E_ENGINE = asked;
  const part = process.env.E2E_PART?.split(",");
  const { runAll } = await import("./support/harness.mjs");
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".mjs")).sort()) {
    if (part === undefined || part.some((one) => file === `${one}.mjs`)) await import(new URL(file, folder));
  }
  process.exit((await runAll(words)) ? 0 : 1);
}

if (asked !== undefined && asked !== "all") throw new Error(`no engine is called ${asked}; there are ${ENGINES.join(", ")}`);
// One after another: each takes all processors for itself.
const failed = ENGINES.filter((engine) => {
  const part = asked === "all" || engine === "chromium" || words.length > 0 || process.env.E2E_TIMES !== undefined ? {} : { E2E_PART: CHOSEN.join() };
  const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), "--engine", engine, ...words], { stdio: "inherit", env: { ...process.env, ...part } });
  return status !== 0;
});
process.exit(failed.length === 0 ? 0 : 1);
