// What the types of typed tables cost: the same operations by a typed table and by the calls of the service, turn by turn. Any host runs it.

import { columns, figure, markdown, median, say } from "./statistics.mjs";

/** Each step: what it is called, and its operations at a time. A put that waits for IndexedDB takes fifty times longer. */
const STEPS = {
  put: ["put, one after another", { memory: 250, indexeddb: 25 }],
  get: ["get, one after another", { memory: 1000, indexeddb: 1000 }],
  scan: ["scan of all rows, per row", {}],
  inFlight: ["put, 1,000 in flight", { memory: 1000, indexeddb: 1000 }],
};
const SIDES = ["plain", "typed"];
/** What the types may add, in per cent. */
const MOST = 5;
/** A put that waits for the device varies by more than the types add; thousands in flight are told, not judged. */
const isJudged = (step, storage) => step === "get" || step === "scan" || (step === "put" && storage === "memory");
/** Turns of a round, and of the time in which code becomes fast. */
const TURNS = 100;
const WARM_UP = 40;
const ROWS = 5000;

/** All turns in one storage. Gives the microseconds of each step, by side. */
export async function turns(ask, storage, { rows, rounds }) {
  const samples = Object.fromEntries(Object.keys(STEPS).map((step) => [step, { plain: [], typed: [] }]));
  await ask("open", `typed-${storage}`.slice(0, 16), storage, Math.min(rows, ROWS));
  for (let turn = 0; turn < WARM_UP + TURNS * rounds; turn++) {
    say(`${storage}: turn ${turn}`);
    for (const [step, [, sizes]] of Object.entries(STEPS)) {
      const took = { plain: 0, typed: 0 };
      // Each side twice, first and last in turn: what came before it makes as much difference to the one as to the other.
      const order = turn % 2 === 0 ? SIDES : SIDES.toReversed();
      for (const side of [...order, ...order.toReversed()]) took[side] += (await ask("take", step, side, turn, Math.min(sizes[storage] ?? rows, rows))) / 2;
      for (const side of SIDES) if (turn >= WARM_UP) samples[step][side].push(took[side]);
    }
    await ask("settle");
  }
  await ask("close");
  say("");
  return samples;
}

/** The table of all storages, and the steps over the limit. */
export function report(all, where) {
  const failures = [];
  const lines = Object.entries(all).flatMap(([storage, samples]) =>
    Object.entries(samples).map(([step, sides]) => {
      const [plain, typed] = SIDES.map((side) => median(sides[side]));
      const more = 100 * (typed / plain - 1);
      const [what] = STEPS[step];
      if (isJudged(step, storage) && more > MOST) failures.push(`${what} (${storage}): ${more.toFixed(1)} % more, at most ${MOST} %`);
      return [what, storage, figure(plain), figure(typed), `${more.toFixed(1)} %`, isJudged(step, storage) ? `${MOST} %` : ""];
    }),
  );
  const head = ["", "storage", "us", "us, typed", "more", "at most"];
  const caption = `Typed tables and the same calls of the service, in one program: rows of 6 columns, medians of all turns. ${where}`;
  console.log(`${caption}\n${columns(head, lines, [0, 1])}`);
  return { text: `${caption}\n\n${markdown(head, lines, [0, 1])}`, failures };
}
