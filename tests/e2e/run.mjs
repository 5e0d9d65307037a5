// Runs the end-to-end tests.
//
//   node run.mjs [words]                    all tests in Chromium, and those that depend on the engine in Firefox and WebKit
//   node run.mjs --engine firefox [words]   all tests in one engine: chromium, firefox or webkit; `all` for all three
//   node run.mjs --tier full                also full products of backend, thread and way, and long repeats: see `harness.mjs`
//   node run.mjs --times 200 [words]        a long run: only the tests that kill, hand over and freeze, as often
//
// With words, only the tests whose names contain one of them, and those of the full tier too.
//
// Tests run side by side, each lane in browsers of its own. There are twice as many lanes as processors (E2E_LANES), because tests
// wait too. Those that are `alone` come last, one after another.
//
// E2E_SEED: when browsers are killed. E2E_KEEP=1: profiles stay, to look into. TEST_REPORT: a file that gets a line for each test.

import { availableParallelism } from "node:os";

import { report } from "../report.mjs";
import { Lane } from "./support/lane.mjs";

const TITLES = { chromium: "Chromium", firefox: "Firefox", webkit: "WebKit" };
const ENGINES = Object.keys(TITLES);
const WORDS = { ok: "ok  ", failed: "FAIL", ignored: "skip" };

/**
 * The files whose tests run in Firefox and WebKit too, unless an engine is named. They depend most on the engine: browsers that
 * are killed, tabs that share and inherit an instance, locks, ports, channels and workers that end, other contexts than a page,
 * and the witnesses and the space of an instance.
 */
const CHOSEN = ["20-kills", "30-tabs", "35-hand-over", "45-contexts", "46-lost", "48-storage"];

/** The value of an option, taken out of the words. */
function option(words, name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}

const words = process.argv.slice(2);
const asked = option(words, "--engine");
const times = option(words, "--times");
const tier = option(words, "--tier");
if (asked !== undefined && asked !== "all" && !ENGINES.includes(asked)) throw new Error(`no engine is called ${asked}; there are ${ENGINES.join(", ")}`);
if (times !== undefined && !(Number(times) >= 1)) throw new Error(`--times is ${times}; it must be a number of at least 1`);
if (tier !== undefined) process.env.TEST_TIER = tier;
if (times !== undefined) process.env.E2E_TIMES = times;

const wanted = words.map((word) => word.toLowerCase());
const engines = ENGINES.includes(asked) ? [asked] : ENGINES;
const takesAll = asked !== undefined || wanted.length > 0 || times !== undefined;
const isFull = process.env.TEST_TIER === "full";

/** Whether an engine takes a test where nothing was asked for. Firefox and WebKit take what they share alternately, and Firefox begins. */
const takes = (engine) => {
  let turn = engine === "webkit" ? 1 : 0;
  return ({ file, shared }) => engine === "chromium" || (CHOSEN.includes(file) && (!shared || isFull || turn++ % 2 === 0));
};

/** Whether a test of an engine was asked for. */
const isChosen = (engine) => {
  const isTaken = takes(engine);
  const isLeftOut = ({ full }) => full && !isFull && wanted.length === 0;
  return (test) => !isLeftOut(test) && (takesAll || isTaken(test)) && (wanted.length === 0 || wanted.some((word) => test.name.toLowerCase().includes(word)));
};

const started = performance.now();
const counts = { ok: 0, failed: 0, ignored: 0 };

/** Runs tests in an engine, one after another, until `next` gives none. */
async function work(engine, next) {
  let lane = new Lane(engine);
  for (let test = next(); test !== undefined; test = next()) {
    const answer = lane.run(test).catch((error) => ({ outcome: "failed", seconds: 0, said: [String(error)] }));
    const { outcome, seconds, said } = await answer;
    counts[outcome] += 1;
    const name = `${TITLES[engine]}: ${test.name}`;
    console.log([`${WORDS[outcome]}  ${name} (${seconds.toFixed(1)} s)`, ...said].join("\n      "));
    report({ name, event: outcome, exec_time: seconds });
    if (lane.ended) lane = new Lane(engine);
  }
  await lane.end();
}

/** The chosen tests of each engine. */
const chosen = new Map(
  await Promise.all(
    engines.map(async (engine) => {
      const lane = new Lane(engine);
      const tests = (await lane.tests()).filter(isChosen(engine));
      await lane.end();
      return [engine, tests];
    }),
  ),
);

// A lane goes to the next engine when no test is left for the one before. The lanes take the other engines in different orders.
// Tests that may take long begin first, so that no lane waits long for another one at the end.
const shared = new Map(
  engines.map((engine) => [
    engine,
    chosen
      .get(engine)
      .filter(({ alone }) => !alone)
      .toSorted((a, b) => b.limit - a.limit),
  ]),
);
const lanes = Number(process.env.E2E_LANES ?? 2 * availableParallelism());
await Promise.all(
  Array.from({ length: lanes }, async (_, at) => {
    const [first, ...others] = engines;
    for (const engine of [first, ...(at % 2 === 0 ? others : others.reverse()), ...engines]) {
      if (shared.get(engine).length > 0) await work(engine, () => shared.get(engine).shift());
    }
  }),
);
for (const [engine, tests] of chosen) {
  const alone = tests.filter((test) => test.alone);
  if (alone.length > 0) await work(engine, () => alone.shift());
}

console.log(`end-to-end: ${((performance.now() - started) / 1000).toFixed(0)} s on ${lanes} lanes`);
console.log(`${counts.ok} passed, ${counts.failed} failed, ${counts.ignored} skipped`);
process.exit(counts.failed === 0 && counts.ok > 0 ? 0 : 1);
