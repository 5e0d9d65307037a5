// Registers tests, and runs one.

import { performance } from "node:perf_hooks";

import { tier } from "../../report.mjs";
import { engine } from "./engine.mjs";

/** The registered tests, and the file that registers now. */
export const all = { tests: [], file: undefined };

/**
 * How often a test does again what it repeats: `usual` times where everything runs, `few` times at the gate, and in a long run as
 * often as that is told.
 */
export const times = (usual, few = Math.ceil(usual / 2)) => Number(process.env.E2E_TIMES ?? (tier === "full" ? usual : few));

/** The cases of a product of choices: `[[a, x], [a, y], ...]`. */
const product = (choices) => choices.reduce((before, more) => before.flatMap((one) => more.map((choice) => [...one, choice])), [[]]);

/** Of a product, so many cases that each thing of `covered(case)` is in one of them. Where everything runs, all. */
function covering(choices, covered) {
  const cases = product(choices.map((choice) => [...choice]));
  if (tier === "full") return cases;
  const left = new Set(cases.flatMap(covered));
  const taken = new Set();
  while (left.size > 0) {
    const news = (one) => covered(one).filter((thing) => left.has(thing)).length;
    const best = cases.reduce((a, b) => (news(b) > news(a) ? b : a));
    taken.add(best);
    for (const thing of covered(best)) left.delete(thing);
  }
  return cases.filter((one) => taken.has(one));
}

const named = (one) => one.map((choice, at) => `${at}: ${JSON.stringify(choice)}`);

/** The cases of a product. At the gate so many that any two choices of different kinds come together once. */
export const pairs = (...choices) => covering(choices, (one) => named(one).flatMap((a, at, all) => all.slice(at + 1).map((b) => `${a}, ${b}`)));

/** The cases of a product whose tests take long. At the gate so many that each choice is in one of them. */
export const singles = (...choices) => covering(choices, named);

// Not every engine begins with the same choice.
let turn = engine.name.length;

/**
 * The choices of a test that does the same with each. At the gate it is one of them, in turn: each choice comes in about as many tests.
 * Not for what a test is about, as the backends are where storage fails.
 */
export const turns = (choices) => (tier === "full" ? choices : [choices[turn++ % choices.length]]);

/**
 * Registers a test. Its name begins with the ids of the statements that it shows. `body` gets a context whose `after`
 * takes things to undo, and whose `note` takes figures to print. An engine that lacks one of its `needs` skips it. One that
 * `repeats` something does it `times(n)`; long runs have only such tests. One that is `alone` asserts a time or a rate:
 * nothing else runs meanwhile. One that is `shared` depends little on the engine: at the gate Chromium runs it, and one of the others
 * (run.mjs). One that is `full` takes long beside what only it shows: without words it runs where everything runs, because others
 * show its statements at the gate.
 */
export function test(name, body, { seconds = 60, needs = [], repeats = false, alone = false, shared = false, full = false } = {}) {
  if (process.env.E2E_TIMES !== undefined && !repeats) return;
  all.tests.push({ name, body, file: all.file, limit: seconds, alone, shared, full, lacks: needs.find((one) => one in engine.lacks) });
}

/** What a step of an explanation gives at most: a page that hangs must not hang the report of it. */
const EXPLAINED_MS = 3000;

/**
 * Runs a body with a context whose `after` takes things to undo, whose `note` takes texts, and whose `explain` takes what to ask
 * for a text when the body has failed. Gives what became of it, once all is undone.
 */
export async function scoped(body) {
  const undo = [];
  const notes = [];
  const explanations = [];
  let value;
  let failure;
  try {
    value = await body({ after: (step) => undo.push(step), note: (text) => notes.push(text), explain: (step) => explanations.push(step) });
  } catch (error) {
    failure = error;
    const late = new Promise((resolve) => {
      setTimeout(resolve, EXPLAINED_MS, "no answer").unref();
    });
    notes.push(...(await Promise.all(explanations.map((step) => Promise.race([step().catch(String), late])))));
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

const runOne = ({ body, limit }) =>
  scoped(async (context) => {
    let timer;
    const tooLate = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${limit} s`)), limit * 1000);
    });
    try {
      await Promise.race([body(context), tooLate]);
    } finally {
      clearTimeout(timer);
    }
  });

/** Runs a test, and gives what became of it: see `Lane.run`. */
export async function run(one) {
  if (one.lacks !== undefined) return { outcome: "ignored", seconds: 0, said: [engine.lacks[one.lacks]] };
  const started = performance.now();
  const { failure, notes } = await runOne(one);
  const seconds = (performance.now() - started) / 1000;
  if (failure === undefined) return { outcome: "ok", seconds, said: notes };
  await engine.reset?.();
  return { outcome: "failed", seconds, said: [...String(failure?.stack ?? failure).split("\n"), ...notes] };
}
