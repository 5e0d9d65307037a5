// Registers tests, runs them one after the other, and says what became of them.

import { performance } from "node:perf_hooks";

import { engine } from "./engine.mjs";

const tests = [];

/** How often a test does again what it repeats; in a long run as often as that is told. */
export const times = (usual) => Number(process.env.E2E_TIMES ?? usual);

/**
 * Registers a test. Its name begins with the ids of the statements that it shows. `body` gets a context whose `after`
 * takes things to undo, and whose `note` takes figures to print. An engine that lacks one of its `needs` skips it. One that
 * `repeats` something does it `times(n)`; long runs have only such tests.
 */
export function test(name, body, { seconds = 60, needs = [], repeats = false } = {}) {
  tests.push({ name, body, seconds, repeats, lacks: needs.find((one) => one in engine.lacks) });
}

/**
 * Runs a body with a context whose `after` takes things to undo, and whose `note` takes texts. Gives what became of it, once all
 * is undone.
 */
export async function scoped(body) {
  const undo = [];
  const notes = [];
  let value;
  let failure;
  try {
    value = await body({ after: (step) => undo.push(step), note: (text) => notes.push(text) });
  } catch (error) {
    failure = error;
  }
  for (const step of undo.reverse()) {
    try {
      await step();
    } catch (error) {
      failure ??= error;
    }
  }
  return { value, failure, notes };
}

const runOne = ({ body, seconds }) => scoped(async (context) => {
  let timer;
  const tooLate = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${seconds} s`)), seconds * 1000);
  });
  try {
    await Promise.race([body(context), tooLate]);
  } finally {
    clearTimeout(timer);
  }
});

/** Runs the tests whose name contains one of `wanted`, or all. Gives whether all passed. */
export async function runAll(wanted) {
  const lower = wanted.map((word) => word.toLowerCase());
  const chosen = tests.filter(({ repeats }) => repeats || process.env.E2E_TIMES === undefined).filter(({ name }) => lower.length === 0 || lower.some((word) => name.toLowerCase().includes(word)));
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  const start = performance.now();
  for (const one of chosen) {
    if (one.lacks !== undefined) {
      skipped += 1;
      console.log(`skip  ${one.name}: ${engine.lacks[one.lacks]}`);
      continue;
    }
    const started = performance.now();
    const { failure, notes } = await runOne(one);
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    if (failure === undefined) {
      passed += 1;
      console.log(`ok    ${one.name} (${took})`);
    } else {
      failed += 1;
      await engine.reset?.();
      console.log(`FAIL  ${one.name} (${took})\n${String(failure?.stack ?? failure).replace(/^/gm, "      ")}`);
    }
    for (const note of notes) console.log(`      ${note}`);
  }
  console.log(`${engine.name}: ${((performance.now() - start) / 1000).toFixed(0)} s`);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 && passed > 0;
}
