// The engine's panel: its figures are read as they are shown, again and again while rows come in, and compared with each other.

import assert from "node:assert/strict";

import { load, startBrowser } from "../support/browser.mjs";
import { importSet, openConsole, openInstance, shoot, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

/** Sees to it that every state of the panel is kept, as `globalThis.panels`: its exact figures under their labels. */
async function watchPanel(page) {
  await page.evaluate(() => {
    const exact = (element) => [...element.querySelectorAll("data")].map(({ value }) => Number(value));
    const read = () => {
      const facts = {};
      for (const fact of document.querySelectorAll(".engine .fact"))
        facts[fact.firstElementChild.innerText] = { shown: fact.lastElementChild.innerText, exact: exact(fact) };
      const title = [...document.querySelectorAll(".engine .group h3")].find(({ innerText }) => innerText.startsWith("Segments"));
      const levels = [...document.querySelectorAll(".engine .levels li")].map((level) => exact(level));
      return { facts, segments: title === undefined ? [] : exact(title), levels };
    };
    globalThis.readPanel = read;
    globalThis.panels = [];
    let last = "";
    const note = () => {
      if (document.querySelector(".engine-body") === null) return;
      const now = read();
      const text = JSON.stringify(now);
      if (text !== last) panels.push(now);
      last = text;
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["value"] });
  });
}

const readPanel = (page) => page.evaluate(() => readPanel());
const panels = (page) => page.evaluate(() => panels);

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/** Fails unless the figures of one state of the panel agree with each other. Gives them by short names. */
function agreeing({ facts, segments: [count, bytes], levels }) {
  const one = (label) => {
    const exact = facts[label]?.exact[0];
    assert.equal(typeof exact, "number", `${label} is shown exactly`);
    return exact;
  };
  const figures = {
    count,
    bytes,
    levels,
    memtable: one("Memtable"),
    writes: one("Writes"),
    flushes: one("Flushes"),
    flushed: one("Flushed and loaded"),
    compactions: one("Compactions"),
    written: one("Written into segments"),
    lastSecond: facts["Writes in the last second"].exact[0],
    amplification: facts["Write amplification"].exact[0],
    leftovers: facts["Indexes and leftovers"]?.exact[0] ?? 0,
    compacted: facts.Compacted?.exact ?? [0, 0],
  };
  assert.equal(sum(levels.map(([segments]) => segments)), count, "segments by level make up all segments");
  assert.equal(sum(levels.map(([, size]) => size)) + figures.leftovers, bytes, "bytes by level, and what is no row, make up all bytes");
  assert.equal(figures.flushed + figures.compacted[1], figures.written, "what was flushed, loaded and compacted is what was written");
  if (figures.compactions === 0) assert.equal(figures.flushed, bytes, "as long as nothing was compacted, what was flushed and loaded is what is stored");
  if (figures.amplification !== undefined) {
    assert.equal(facts["Write amplification"].shown, (figures.written / figures.flushed).toFixed(2));
    assert.ok(figures.flushed >= 1024 * 1024, `the amplification is shown after ${figures.flushed} bytes`);
    assert.ok(2 * figures.compacted[0] >= figures.flushed, `the amplification is shown after ${figures.compacted[0]} bytes were compacted`);
    assert.ok(2 * figures.flushed >= bytes, "the amplification is shown when most of what is stored was there before");
  }
  return figures;
}

/**
 * Waits until the panel has shown the same work for so long. The memtable is flushed by itself, and compactions may
 * follow, up to 2 s after the last write. A test that needs the stored data to stay as it is waits longer than that.
 */
async function quiet(page, ms = 600) {
  for (let before, since = 0; ; ) {
    await page.waitForTimeout(600);
    const { facts, segments } = await readPanel(page);
    const now = JSON.stringify([segments, facts.Memtable, facts.Writes, facts.Compactions, facts["Writes in the last second"]]);
    if (now !== before) since = performance.now();
    else if (performance.now() - since >= ms) return;
    before = now;
  }
}

test(
  "I5: keys in random order fill the memtable, are flushed and compacted before the eyes; the figures of the panel agree at every moment, and with the package's",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "figures");
    await watchPanel(page);
    const started = performance.now();
    await importSet(page, "flights-by-booking.csv");
    await page.waitForFunction(() => readPanel().facts.Compactions?.exact[0] > 0, undefined, { timeout: 30_000 });
    const seconds = (performance.now() - started) / 1000;
    await shoot(page, "20-figures-importing");
    await quiet(page, 3000);
    await shoot(page, "21-figures-imported");
    const seen = (await panels(page)).map(agreeing);
    // The memtable is flushed several times between two states if the machine is fast: it need not be the same memtable that grew.
    const steps = seen.slice(1).map((state, i) => [seen[i], state]);
    const filling = steps.filter(([before, after]) => before.memtable > 0 && after.memtable > before.memtable).length;
    // A memtable is replaced when it is full, and its flush counts when it has ended, which may be some states later.
    const falls = seen.flatMap((state, i) => (i > 0 && state.memtable < seen[i - 1].memtable ? [i] : []));
    const flushed = falls.filter((at, i) => seen[(falls[i + 1] ?? seen.length) - 1].flushes > seen[at - 1].flushes).length;
    assert.ok(filling >= 2 && flushed >= 2, `the memtable is seen with ${seen.map(({ memtable }) => memtable)} bytes`);
    const last = seen.at(-1);
    assert.ok(last.flushes >= 3, `${last.flushes} flushes`);
    assert.ok(last.compactions >= 1);
    assert.ok(last.amplification > 1.2, `the amplification is ${last.amplification}`);
    assert.ok(
      seen.some(({ amplification, flushed }) => amplification === undefined && flushed > 0),
      "nothing is said of the amplification at first",
    );
    const middle = seen.filter(({ flushes }) => flushes > 0).length;

    // The same instance, seen by the package: a memtable that was not flushed is in the log, the segments are the same.
    await page.getByRole("button", { name: "Close instance" }).click();
    await page.getByRole("button", { name: /^figures/ }).waitFor();
    const other = await context.newPage();
    await load(other, server, "/package/");
    const { segments, levels } = await other.evaluate(async () => {
      const db = await H.openSoon("figures");
      const { segments, trees } = await db.metrics();
      await db.close();
      return { segments, levels: trees.flatMap((tree) => tree.levels) };
    });
    assert.deepEqual([last.count, last.bytes], [segments.count, segments.bytes]);
    assert.deepEqual(
      last.levels,
      levels.map(({ segments, bytes }) => [segments, bytes]),
    );
    t.note(
      `compacting after ${seconds.toFixed(1)} s; ${seen.length} states of the panel, ${middle} with segments, ${filling} with more in the memtable than before, ${flushed} with less after a flush; ${last.flushes} flushes, ${last.compactions} compactions, ${last.flushed} bytes flushed, amplification ${last.amplification.toFixed(2)}`,
    );
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "I5: sorted rows are loaded: they count as written, and as much as is stored; the amplification waits for compactions",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "loaded");
    await watchPanel(page);
    await importSet(page, "flights-200k.json");
    await page.waitForFunction(() => readPanel().facts.Writes?.exact[0] >= 200_000);
    await quiet(page, 3000);
    const seen = (await panels(page)).map(agreeing);
    const last = seen.at(-1);
    assert.ok(last.writes >= 200_000 && last.writes < 200_100, `${last.writes} writes`);
    // Compactions may follow before the panel is read again. Of sorted rows they leave about as much as was loaded.
    assert.ok(last.bytes > 800_000 && Math.abs(last.flushed - last.bytes) < last.bytes / 4, `${last.flushed} bytes loaded or flushed, ${last.bytes} stored`);
    assert.ok(
      seen.every(({ amplification }) => amplification === undefined),
      "less than 1 MB tells nothing of the amplification",
    );
    // After a reload nothing has been written yet, so compactions of older data tell nothing of it.
    await page.reload();
    await page.locator(".open-row").first().waitFor();
    await watchPanel(page);
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await quiet(page);
    const after = await readPanel(page);
    assert.equal(after.facts["Write amplification"].exact.length, 0, `the amplification is ${after.facts["Write amplification"].shown}`);
    t.note(`${seen.length} states; ${last.flushed} bytes loaded or flushed, ${last.bytes} stored`);
  },
  { full: true, seconds: 90, needs: ["locators"] },
);

test(
  "I5: the writes of the last second are those of the last second, no more and no fewer, and none a second later",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "rates");
    await watchPanel(page);
    await importSet(page, "stocks.csv");
    await page.getByRole("button", { name: "Compact", exact: true }).click();
    await quiet(page);
    await page.evaluate(() => {
      panels.length = 0;
    });
    const before = agreeing(await readPanel(page));
    assert.equal(before.lastSecond, 0);
    // The table is there, so only these rows and the capacity meter's notes are written.
    await importSet(page, "stocks.csv");
    await page.waitForFunction((writes) => readPanel().facts.Writes.exact[0] >= writes, before.writes + 560);
    await page.waitForTimeout(2500);
    const seen = (await panels(page)).map(agreeing);
    const most = Math.max(...seen.map(({ lastSecond }) => lastSecond));
    const written = seen.at(-1).writes - before.writes;
    assert.ok(written >= 560 && written < 570, `${written} writes`);
    assert.ok(most >= 560 && most <= written, `${most} in the last second, of ${written}`);
    assert.equal(seen.at(-1).lastSecond, 0);
    t.note(`${written} writes, at most ${most} in the last second`);
  },
  { needs: ["locators"], alone: true },
);
