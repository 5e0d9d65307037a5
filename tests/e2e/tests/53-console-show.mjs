// The show of the console: a throwaway instance at work, told step by step by what the engine does; its kill, and its reads.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { openConsole, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const step = (page, number) => page.getByText(`${number} of 8`, { exact: true }).waitFor();
const number = async (place) => Number((await place.innerText()).replaceAll(/\D/g, ""));
const fact = (page, label) => number(page.getByRole("row", { name: new RegExp(`^${label}`) }).getByRole("cell"));
const found = (page, label) =>
  number(
    page
      .locator(".show-balance div")
      .filter({ has: page.getByText(label, { exact: true }) })
      .locator("dd"),
  );

test(
  "the first visit has no form: the show tells what the engine does, survives a kill of the page, and lights a read",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await page.getByRole("link", { name: "Watch it work" }).waitFor();
    assert.equal(await page.locator("form").count(), 0);
    await shoot(page, "72-first-visit");
    assert.deepEqual(await faults(page, "first visit"), []);
    await page.getByRole("link", { name: "Watch it work" }).click();
    await step(page, 1);
    assert.match(page.url(), /#\/tour\?step=1$/);
    await page.getByRole("button", { name: "×5", exact: true }).click();
    await page.getByText(/^[1-9][\d,]* rows are acknowledged/).waitFor();
    await page.locator("body").press("ArrowRight");
    await step(page, 2);
    await page.getByText(/^The memtable keeps new rows in memory, sorted by key: now [\d,]+ entr/).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(/^A full memtable is frozen and written as a segment: the last one had \d+ entries/).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(/^\d+ parts became \d+ at level \d/).waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(/^Partition \d+ held too much\. It was split at F\d/).waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    await step(page, 4);
    await shoot(page, "73-show");
    assert.deepEqual(await faults(page, "show"), []);

    // The sentences and figures are the engine's own.
    await page.getByRole("main").press("Space");
    await page.getByRole("button", { name: "Let rows come" }).waitFor();
    const told = await page.evaluate(async () => {
      const { open } = await import("/package/pkg/index.js");
      const db = await open("tour", { create: false });
      const { events } = await db.getWorkEvents();
      await db.close();
      return events.filter(({ type }) => type === "flush").length;
    });
    assert.ok(told >= 3 && Math.abs(told - (await fact(page, "Flushes"))) <= 1, `${told} flushes`);
    assert.ok((await fact(page, "Old values dropped")) > 0);
    await page.getByRole("main").press("Space");

    for (const at of [5, 6]) {
      await page.locator("body").press("ArrowRight");
      await step(page, at);
    }
    const before = await fact(page, "Rows acknowledged");
    await page.getByRole("button", { name: "Kill this tab now" }).click();
    await page.locator(".show-balance").waitFor();
    await step(page, 7);
    assert.ok((await found(page, "Acknowledged writes")) >= before);
    assert.equal(await found(page, "Lost"), 0);
    // What was there is counted here too, past the page.
    const rows = await found(page, "Rows found");
    assert.ok(rows >= (await found(page, "Rows written")) && rows > 1000, `${rows} rows`);
    await shoot(page, "74-show-found");
    assert.deepEqual(await faults(page, "show after a kill"), []);

    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "One that is there" }).click();
    await page.getByText(/^The row is there: .*write \d+\. 1 read unit/).waitFor();
    assert.ok((await page.getByRole("list", { name: "The path of the read" }).getByRole("listitem").count()) >= 1);
    await page.getByRole("button", { name: "One that is not" }).click();
    await page.getByText(/^There is no such row\. 1 read unit/).waitFor();
    await page.getByText("The same in code").click();
    await shoot(page, "75-show-ask");
    assert.deepEqual(await faults(page, "show, ask"), []);

    // Somebody who comes back without an instance of their own is asked again; the instance of the show is none.
    await page.getByRole("link", { name: "All instances", exact: true }).click();
    await page.getByRole("button", { name: "Open my instance" }).click();
    await page.getByRole("textbox", { name: "Name" }).waitFor();
    await page.getByRole("button", { name: /^tour/ }).click();
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "flight" }).waitFor();
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "the show is in Chinese for those who read it, fits a phone, and leaves its place to a dropped file",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.phone });
    await context.addInitScript(() => Object.defineProperty(navigator, "languages", { get: () => ["zh-CN", "en"] }));
    const page = await openConsole(t, context, server);
    await page.getByRole("link", { name: "看它工作" }).click();
    await page.getByText("第 1 步，共 8 步").waitFor();
    await page.getByText(/^已确认 [1-9][\d,]* 行/).waitFor();
    assert.equal(await page.locator("#main").getAttribute("lang"), "zh-CN");
    await fitsWidth(page, "show in Chinese");
    await shoot(page, "76-show-chinese");
    assert.deepEqual(await faults(page, "show in Chinese"), []);
    await page.getByRole("button", { name: "English" }).click();
    await step(page, 1);
    assert.equal(await page.locator("#main").getAttribute("lang"), "en");
    await page.reload();
    await step(page, 1);
    await page.getByRole("link", { name: "All instances", exact: true }).click();
    await page.locator(".file-pick input").setInputFiles({ name: "mine.csv", mimeType: "text/csv", buffer: Buffer.from("id,who\n1,ann\n2,bob\n") });
    await page.getByRole("dialog").getByRole("button", { name: "Create table and import" }).click();
    await page.locator(".browser table.grid button.open-row").first().waitFor();
    assert.match(page.url(), /#\/demo\/mine/);
  },
  { full: true, seconds: 60, needs: ["locators"] },
);
