// Leaders that end, or are frozen, again and again among tabs that write; and how long the calls of the others wait.
//
// Each tab writes without a pause. It has `answers`, the number of its calls that succeeded, and `slowest`, the longest wait of one.

import { openPage } from "./browser.mjs";
import { engine } from "./engine.mjs";
import { freeze } from "./frozen.mjs";
import { led, open } from "./tabs.mjs";

/** The ways in which a leader ends. In the first it can say goodbye. */
export const ENDS = {
  closes: (context, page) => page.evaluate(() => db.close()),
  "is closed": (context, page) => page.close(),
  crashes: engine.crash,
  navigates: (context, page) => page.goto("about:blank"),
};

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const others = (pages, leader) => pages.filter((page) => page !== leader);
const mark = (page) => page.evaluate(() => void (globalThis.slowest = 0));

/** The longest wait of a tab's calls since `mark`, once it has had answers again. */
const longest = (page) =>
  page.evaluate(async () => {
    const before = answers;
    while (answers < before + 2) await new Promise((resolve) => setTimeout(resolve, 1));
    return slowest;
  });

/**
 * Ends the leader `times` times. It, or a new tab, then follows the next one. `finish` ends the writing of a tab, because what a
 * leader does for itself would be known to nobody after a crash; `begin` starts that of one. Gives the tabs of the end, and the
 * longest waits: of each follower each time.
 */
export async function handOvers(t, { server, context, pages, ends, times, begin, finish }) {
  const waits = [];
  for (const page of pages) await begin(page);
  for (let round = 0; round < times; round++) {
    await pause(40 + 30 * (round % 3));
    const leader = pages[(await led(pages)).indexOf("leader")];
    await finish(leader);
    if (round % 3 === 1) await leader.evaluate(() => db.flush());
    const rest = others(pages, leader);
    for (const page of rest) await mark(page);
    let next = leader;
    if (ends === "closes") {
      await leader.evaluate(() => Promise.all([db.close(), globalThis.second?.close()]));
    } else {
      await ENDS[ends](context, leader);
      next = await openPage(t, context, server);
    }
    await next.evaluate(open, { name: "shared", options: {} });
    pages = [...rest, next];
    await begin(next);
    for (const page of rest) waits.push(await longest(page));
  }
  return { pages, waits };
}

/**
 * Freezes the leader `times` times, and lets it go on when all others have had answers of the next one. Gives the longest waits: of
 * each follower each time. The tabs measure them, because a driver may need seconds to see what tabs do that work without a pause.
 */
export async function freezes(pages, times) {
  const waits = [];
  const answered = async (page) => {
    const before = await page.evaluate(() => answers);
    await page.waitForFunction((before) => answers > before, before);
  };
  for (let round = 0; round < times; round++) {
    await pause(200 + 30 * (round % 10));
    const leader = pages[(await led(pages)).indexOf("leader")];
    const rest = others(pages, leader);
    for (const page of rest) await mark(page);
    await freeze(leader, rest[0], "shared");
    await Promise.any(rest.map((page) => page.waitForFunction(() => db.role === "leader"))).catch(({ errors }) => {
      throw new Error(`nobody leads after freeze ${round + 1}: ${errors[0]}`);
    });
    await Promise.all(rest.map(answered));
    for (const page of rest) waits.push(await longest(page));
    leader.thaw();
    await leader.waitForFunction(() => db.role === "follower");
    await answered(leader);
  }
  return waits;
}

/** The longest waits, in words. */
export function inWords(waits) {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor((sorted.length - 1) * share)].toFixed(0);
  return `the longest wait of a follower: median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} ms`;
}
