// The console's picture of the store: segments, the path of a read, background work by hand.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { importSet, openConsole, openInstance, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const picture = (page) => page.getByRole("region", { name: "Log, memtables and segments" });
const boxes = (page) => picture(page).getByRole("button");
const rows = (page) => page.getByRole("region", { name: "Segments as a table" }).locator("tbody tr");
const inside = (page) => page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Inside" });

test(
  "I5: the console draws each segment between its keys, tells why the store worked, and lights the path of a read",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "inside");
    await importSet(page, "stocks.csv");
    await inside(page).click();
    assert.match(page.url(), /view=inside/);
    await page.getByText("None since this view was opened").waitFor();
    await page.locator(".work-bar").getByRole("button", { name: "Flush" }).click();
    await boxes(page).first().waitFor();
    const events = page.getByRole("region", { name: "Events" });
    await page.locator(".work-bar").getByRole("button", { name: "Compact" }).click();
    await events
      .getByText(/^Compaction: .* because somebody asked/)
      .first()
      .waitFor();
    // The picture and the table have the same facts, and those are the package's.
    await page.waitForFunction(
      () => document.querySelectorAll(".inside .segment").length === document.querySelectorAll("[aria-label='Segments as a table'] tbody tr").length,
    );
    const told = await page.evaluate(async () => {
      const { open } = await import("/package/pkg/index.js");
      const db = await open("inside", { create: false });
      const { trees } = await db.segments({ tableName: "stocks" });
      await db.close();
      return trees[0].segments.map(({ segmentId, level, entries }) => [segmentId, level, entries].join());
    });
    const shown = await rows(page).evaluateAll((all) =>
      all.map(({ cells }) => [cells[0].innerText, cells[1].innerText, cells[6].innerText.replaceAll(",", "")].join()),
    );
    assert.deepEqual(shown, told);
    const label = await boxes(page).first().getAttribute("aria-label");
    assert.match(label, /^Segment \d+, level \d, partition \d+, .+ to .+, .* rows, .* blocks?/);

    // A box is chosen with the keyboard, and shows its blocks and rows.
    await boxes(page).first().focus();
    await page.keyboard.press("Enter");
    const facts = page.getByRole("region", { name: /^Segment \d+$/ });
    await facts.getByText(/bits for/).waitFor();
    assert.ok((await facts.locator(".block").count()) >= 1);
    assert.ok((await facts.locator(".segment-rows li").count()) >= 1);
    const key = await page.evaluate(async () => {
      const { open } = await import("/package/pkg/index.js");
      const db = await open("inside", { create: false });
      const { rows } = await db.getRange({ tableName: "stocks", limit: 1 });
      await db.close();
      return rows[0].primaryKey;
    });
    for (const [name, value] of Object.entries(key)) await page.getByLabel(`Key to ask, ${name}`).fill(String(value));
    const ask = page.getByRole("region", { name: "Ask it a key" });
    await ask.getByRole("button", { name: "Ask" }).click();
    await ask.getByText(/^The row is there: 1 piece, 1 read unit/).waitFor();
    await ask.getByText(/^Segment \d+, level \d: the filter says maybe.*: found$/).waitFor();
    assert.equal(await picture(page).locator(".verdict-found").count(), 1);
    await shoot(page, "70-inside");
    assert.deepEqual(await faults(page, "inside"), []);

    // A reload comes back to it, and the way back leads to the rows.
    await page.reload();
    await boxes(page).first().waitFor();
    await page
      .getByRole("navigation", { name: "Tables" })
      .getByRole("button", { name: /^stocks/ })
      .click();
    await page.locator(".open-row").first().waitFor();
    await page.goBack();
    await boxes(page).first().waitFor();
  },
  { seconds: 60, needs: ["locators"] },
);

test(
  "in a sandbox in memory background work is paused and done step by step; on a phone the picture fits",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.phone });
    const page = await openConsole(t, context, server, "#/sandbox?storage=memory&view=inside");
    const bar = page.locator(".work-bar");
    await bar.getByRole("button", { name: "Pause" }).click();
    await bar.getByText("Nothing is due").waitFor();
    // An import shows the table's rows; the pause goes on.
    await importSet(page, "flights-by-booking.csv");
    await inside(page).click();
    await picture(page).getByText("Frozen").first().waitFor();
    const newest = () => Number(document.querySelector("[aria-label='Events'] tbody td").innerText);
    const before = await page.evaluate(newest);
    await bar.getByRole("button", { name: "Step" }).click();
    await page.waitForFunction((before) => Number(document.querySelector("[aria-label='Events'] tbody td").innerText) > before, before);
    await bar.getByText(/^(Next: |Nothing is due)/).waitFor();
    await fitsWidth(page, "inside");
    assert.deepEqual(await faults(page, "inside of a sandbox"), []);
    await shoot(page, "71-inside-phone");
    await bar.getByRole("button", { name: "Resume" }).click();
    await bar.getByRole("button", { name: "Pause" }).waitFor();
  },
  { full: true, seconds: 60, needs: ["locators"] },
);
