// The console, by hand as it were: import, browse, change, reload, with the mouse and with the keyboard alone.
// Screenshots go to target/e2e.

import assert from "node:assert/strict";

import { load, startBrowser } from "../support/browser.mjs";
import { firstKey, keysShown, openConsole, openInstance, shoot, VIEWPORT, showForm } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

test(
  "W1: flights-200k.json, all its rows, imported through the console with progress, browsed in both directions, still there after a reload",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await showForm(page);
    await page.getByText("None yet.").waitFor();
    await shoot(page, "1-welcome");
    await openInstance(page, "flights");
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
    await page.getByRole("button", { name: /flights-200k\.json/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("A key column with the row's number").waitFor();
    await shoot(page, "2-import-plan");

    // Progress is noted by the page itself, so that none is missed.
    await page.evaluate(() => {
      globalThis.progress = [];
      const note = () => {
        const bar = document.querySelector("progress");
        const stored = document.querySelector(".job-figures b")?.textContent;
        if (bar !== null && stored !== undefined) progress.push([bar.value / bar.max, Number(stored.replaceAll(/\D/g, ""))]);
      };
      new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    });
    const started = performance.now();
    await dialog.getByRole("button", { name: "Create table and import" }).click();
    await page.waitForFunction(() => globalThis.progress.some(([part]) => part > 0.2));
    await shoot(page, "3-importing");
    const job = page.getByRole("region", { name: "Import" });
    await job.getByText("Imported", { exact: true }).waitFor({ timeout: 60_000 });
    const took = (performance.now() - started) / 1000;
    const told = await job.locator(".job-figures").innerText();
    assert.match(told, /200[,. \u202f\u00a0]?000 rows stored/);
    const progress = await page.evaluate(() => globalThis.progress);
    const steps = new Set(progress.map(([, rows]) => rows)).size;
    assert.ok(steps >= 5, `progress had ${steps} steps`);
    progress.slice(1).forEach(([part, rows], i) => assert.ok(rows >= progress[i][1] && part >= progress[i][0] - 1e-9, "progress never goes back"));
    await shoot(page, "4-imported");

    const expected = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => String(from < to ? from + i : from - i));
    const click = (name) => page.getByRole("button", { name, exact: true }).click();
    const see = async (from, to) => {
      await firstKey(page, String(from));
      assert.deepEqual(await keysShown(page), expected(from, to));
    };
    await see(1, 50);
    await click("Next page");
    await see(51, 100);
    await click("Next page");
    await see(101, 150);
    await click("Previous page");
    await see(51, 100);
    await click("Last page");
    await see(199951, 200000);
    assert.ok(await page.getByRole("button", { name: "Next page" }).isDisabled());
    await click("Previous page");
    await see(199901, 199950);
    await click("First page");
    await see(1, 50);
    await page.getByLabel("Direction", { exact: true }).selectOption("BACKWARD");
    await see(200000, 199951);
    await click("Next page");
    await see(199950, 199901);
    await page.getByLabel("Start of the range, row").fill("123456");
    await page.getByRole("button", { name: "Apply range" }).click();
    await see(123456, 123407);
    await shoot(page, "5-range-backward");

    // The address says where we are, so a reload comes back to it.
    await page.reload();
    await see(123456, 123407);
    await page.getByLabel("Direction", { exact: true }).selectOption("FORWARD");
    await page.getByRole("button", { name: "Whole table" }).click();
    await see(1, 50);
    await shoot(page, "6-after-reload");
    // The cost is shown.
    await page
      .getByRole("region", { name: "Calls" })
      .getByText(/GetRange/)
      .first()
      .waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    // Colours change over 0.12 s.
    await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)));
    await shoot(page, "7-dark");

    // Every row, compared with the file by another program: this package.
    await page.getByRole("button", { name: "Close instance" }).click();
    await page.getByRole("button", { name: /^flights/ }).waitFor();
    const other = await context.newPage();
    await load(other, server, "/package/");
    const { rows, wrong } = await other.evaluate(async () => {
      const flights = await (await fetch("/data/flights-200k.json")).json();
      const db = await H.openSoon("flights");
      let rows = 0;
      let wrong = 0;
      for await (const part of db.scanPages({ tableName: "flights" })) {
        for (const row of part) {
          const flight = flights[rows];
          rows += 1;
          const names = Object.keys(row.columns);
          if (row.primaryKey.row !== rows || names.length !== Object.keys(flight).length || names.some((name) => row.get(name) !== flight[name])) wrong += 1;
        }
      }
      await db.close();
      return { rows, wrong, all: flights.length };
    });
    assert.deepEqual([rows, wrong], [200_000, 0]);
    t.note(`imported in ${took.toFixed(1)} s as seen from outside: ${told.replaceAll(/\s+/g, " ")}; ${steps} steps of progress`);
  },
  { seconds: 120, needs: ["locators"] },
);

test(
  "W1: the other data sets, with texts, gaps and titles that repeat, are imported whole by the plan that the console suggests",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "data-sets");
    const sets = { "stocks.csv": 560, "seattle-weather.csv": 1461, "movies.json": 3201, "zipcodes.csv": 42_049 };
    const took = [];
    for (const [file, rows] of Object.entries(sets)) {
      await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
      await page.getByRole("button", { name: new RegExp(file) }).click();
      // A history of its cells, from the beginning.
      if (file === "stocks.csv") {
        await page.getByRole("dialog").getByLabel("Versions kept").fill("3");
        await shoot(page, "12-plan-versions");
      }
      await page.getByRole("dialog").getByRole("button", { name: "Create table and import" }).click();
      const job = page.getByRole("region", { name: "Import" });
      await job.getByText(file).waitFor();
      await job.getByText("Imported", { exact: true }).waitFor();
      await page.getByText(file === "stocks.csv" ? "3 versions a column" : "1 version a column", { exact: true }).waitFor();
      const told = (await job.locator(".job-figures").innerText()).replaceAll(/\s+/g, " ");
      assert.equal(Number(told.match(/^([\d,]+) rows stored/)?.[1].replaceAll(",", "")), rows, told);
      took.push(`${file} ${told}`);
      await job.getByRole("button", { name: "Close" }).click();
    }
    await shoot(page, "12-zipcodes");
    await page.getByRole("button", { name: "Close instance" }).click();
    await page.getByRole("button", { name: /^data-sets/ }).waitFor();

    // Compared with the files, field by field: movies.json as it is, weather by its texts.
    const other = await context.newPage();
    await load(other, server, "/package/");
    const wrong = await other.evaluate(async () => {
      const db = await H.openSoon("data-sets");
      const wrong = [];
      const movies = await (await fetch("/data/movies.json")).json();
      const keyOf = (name) => name.replaceAll(/[^A-Za-z0-9_]/g, "_");
      const stored = await H.all(db, { tableName: "movies" });
      if (stored.length !== movies.length) wrong.push(`${stored.length} movies`);
      for (const [i, row] of stored.entries()) {
        const expected = Object.entries(movies[i]).filter(([, value]) => value !== null);
        const same = expected.length === row.columnNames.length && expected.every(([name, value]) => String(row.get(keyOf(name))) === String(value));
        if (!same) wrong.push(`movie ${i + 1}: ${JSON.stringify(H.plain(row))} for ${JSON.stringify(movies[i])}`);
      }
      const [head, ...lines] = (await (await fetch("/data/seattle-weather.csv")).text()).trim().split(/\r?\n/);
      const names = head.split(",");
      const days = new Map((await H.all(db, { tableName: "seattle_weather" })).map((row) => [row.primaryKey.date, row]));
      for (const line of lines) {
        const [date, ...fields] = line.split(",");
        const row = days.get(date);
        const same = row !== undefined && fields.every((field, i) => String(row.get(names[i + 1])) === (/^-?\d/.test(field) ? String(Number(field)) : field));
        if (!same) wrong.push(`weather ${line}`);
      }
      const zip = await db.getRow({
        tableName: "zipcodes",
        primaryKey: (await db.describeTable("zipcodes")).primaryKey[0].type === "INTEGER" ? { zip_code: 501 } : { zip_code: "00501" },
      });
      if (zip.row === null) wrong.push("zip code 00501 is not there");
      await db.close();
      return wrong.slice(0, 5);
    });
    assert.deepEqual(wrong, []);
    for (const line of took) t.note(line);
  },
  { full: true, seconds: 90, needs: ["locators"] },
);

test(
  "W1: an import can be cancelled, and what it stored stays; a second tab shares the instance",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "cancelled");
    await page.getByRole("main").getByRole("button", { name: "Import data" }).click();
    await page.getByRole("button", { name: /flights-200k\.json/ }).click();
    // Clicked from inside the page, as soon as the rows are shown: all are imported within half a second.
    await page.evaluate(() => {
      const observer = new MutationObserver(() => {
        if (!(Number(document.querySelector(".job-figures b")?.textContent.replaceAll(/\D/g, "")) > 5000)) return;
        observer.disconnect();
        [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Cancel").click();
      });
      observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await page.getByRole("dialog").getByRole("button", { name: "Create table and import" }).click();
    const job = page.getByRole("region", { name: "Import" });
    await job.getByText("Cancelled:", { exact: true }).waitFor();
    const stored = Number((await job.locator(".job-figures b").first().innerText()).replaceAll(/\D/g, ""));
    assert.ok(stored > 5000 && stored < 200_000, `${stored} rows`);
    await page.reload();
    await firstKey(page, "1");
    await page.getByRole("button", { name: "Last page" }).click();
    await page.waitForFunction(() => document.querySelector(".browser table.grid button.open-row")?.innerText !== "1");
    const last = Number((await keysShown(page)).at(-1));
    assert.ok(last >= stored && last < 200_000, `${stored} rows were told, the last is ${last}`);

    const second = await openConsole(t, context, server, "#/cancelled");
    await second
      .getByRole("navigation", { name: "Tables" })
      .getByRole("button", { name: /flights/ })
      .click();
    await firstKey(second, "1");
    await page.getByRole("button", { name: "Close instance" }).click();
    // It goes on: now it has the engine.
    await second.getByRole("button", { name: "Last page" }).click();
    await second.waitForFunction(() => document.querySelector(".browser table.grid button.open-row")?.innerText !== "1");
    t.note(`cancelled after ${stored} rows; the last row is ${last}`);
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "W1, R1, C1: a table is created, a row put, updated, replaced and deleted through the dialogs; each call tells its units",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "rows");
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Create table" }).click();
    let dialog = page.getByRole("dialog");
    await dialog.getByLabel("Table name").fill("books");
    await dialog.getByRole("button", { name: "Key column", exact: true }).click();
    await dialog.getByLabel("Name of key column 2").fill("volume");
    await dialog.getByLabel("Type of key column 2").selectOption("INTEGER");
    await dialog.getByLabel("Max versions").fill("3");
    await shoot(page, "9-create-table");
    await dialog.getByRole("button", { name: "Create table" }).click();
    await page.getByRole("heading", { name: "books" }).waitFor();

    await page.getByRole("button", { name: "Put row" }).click();
    dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^id/).fill("北京 🦀");
    await dialog.getByLabel(/^volume/).fill("-9223372036854775808");
    await dialog.getByLabel("Column", { exact: true }).fill("pages");
    await dialog.getByLabel("Type of pages").selectOption("INTEGER");
    await dialog.getByLabel("Value of pages").fill("9223372036854775807");
    await dialog.getByRole("button", { name: "Put row" }).click();
    // The row opens by itself, with its versions.
    dialog = page.getByRole("dialog", { name: /^Row / });
    await dialog.getByText("9223372036854775807").waitFor();
    await dialog.getByText(/GetRow/).waitFor();

    await dialog.getByLabel("Column", { exact: true }).fill("title");
    await dialog.getByLabel("Value", { exact: true }).fill("Träume");
    await dialog.getByRole("button", { name: "Update", exact: true }).click();
    await dialog.locator(".versions").getByText("Träume").waitFor();
    await dialog.getByLabel("Value", { exact: true }).fill("Träume, zweite Auflage");
    await dialog.getByRole("button", { name: "Update", exact: true }).click();
    await dialog.locator(".versions").getByText("Träume, zweite Auflage").waitFor();
    assert.deepEqual(await dialog.locator(".versions td.whole").allInnerTexts(), ["9223372036854775807", "Träume, zweite Auflage", "Träume"]);
    assert.match(await dialog.getByRole("status").innerText(), /UpdateRow\s+0 read, 1 write[\s\S]*GetRow\s+1 read, 0 write/);
    await shoot(page, "10-row-versions");
    // A version can be deleted alone. Errors are shown, and nothing is stored.
    await dialog
      .getByRole("button", { name: /^Delete the version \d+ of title/ })
      .last()
      .click();
    await dialog.getByRole("button", { name: "Delete this version" }).click();
    await dialog.locator(".versions").getByText("Träume", { exact: true }).waitFor({ state: "detached" });
    await dialog.getByLabel("Column", { exact: true }).fill("1st");
    await dialog.getByRole("button", { name: "Update", exact: true }).click();
    await dialog.getByRole("alert").getByText(/1st/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).first().click();

    // It survives a reload, and can be opened from the grid.
    await page.reload();
    await firstKey(page, "北京 🦀");
    await page.getByRole("button", { name: "北京 🦀" }).click();
    dialog = page.getByRole("dialog", { name: /^Row / });
    await dialog.locator(".versions").waitFor();
    assert.deepEqual(await dialog.locator(".versions td.whole").allInnerTexts(), ["9223372036854775807", "Träume, zweite Auflage"]);
    await dialog.getByRole("button", { name: "Replace row" }).click();
    dialog = page.getByRole("dialog", { name: /^Replace / });
    await dialog.getByRole("button", { name: "Leave out title" }).click();
    await dialog.getByRole("button", { name: "Put row" }).click();
    dialog = page.getByRole("dialog", { name: /^Row / });
    await dialog.locator(".versions").waitFor();
    await dialog.locator(".versions").getByText("Träume").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Delete row" }).click();
    await dialog.getByRole("button", { name: "Delete all versions of it" }).click();
    await page.getByText("There are no rows in this range.").waitFor();

    await page.getByRole("button", { name: "Delete table" }).click();
    dialog = page.getByRole("dialog");
    await dialog.getByLabel(/Type books to confirm/).fill("books");
    await dialog.getByRole("button", { name: "Delete table" }).click();
    await page.getByRole("heading", { name: "An empty instance" }).waitFor();
  },
  { needs: ["locators"] },
);

test(
  "W1: a table is created and a row put with the keyboard alone",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await showForm(page);
    await page.getByText("None yet.").waitFor();
    const name = () =>
      page.evaluate(() => {
        const at = document.activeElement;
        return at?.getAttribute("aria-label") ?? at?.labels?.[0]?.innerText.trim() ?? at?.innerText?.trim() ?? "";
      });
    /**
     * Goes on by Tab until the focus is on something of this name, or back. The way does not leave the page: without the window's
     * focus, Firefox presses no button.
     */
    const tabTo = async (wanted, key = "Tab") => {
      const seen = [];
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press(key);
        const at = await name();
        if (wanted.test(at)) return;
        seen.push(at);
      }
      assert.fail(`the Tab key does not come to ${wanted}, but to ${seen.join(" | ")}`);
    };
    await tabTo(/^Name$/);
    await page.keyboard.press("Control+A");
    await page.keyboard.type("keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "An empty instance" }).waitFor();
    // The focus is on what was opened, behind the list of tables.
    await tabTo(/^Create table$/, "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    assert.equal(await name(), "Table name", "the dialog begins at its first field");
    await page.keyboard.type("typed");
    await tabTo(/^Type of key column 1$/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    // Enter in a choice may send the form, open the choice, or do nothing.
    await page.waitForTimeout(100);
    if (await page.getByRole("dialog").isVisible()) {
      if (await page.evaluate(() => document.activeElement.matches(":open"))) {
        await page.keyboard.press("Escape");
        if (!(await page.getByRole("dialog").isVisible())) assert.fail("Escape on an open choice closed the dialog");
      }
      await tabTo(/^Create table$/);
      await page.keyboard.press("Enter");
    }
    await page.getByRole("heading", { name: "typed" }).waitFor();
    await page.getByText("There are no rows in this range.").waitFor();

    await tabTo(/^Put row$/);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    // Escape leaves, and gives the focus back.
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await name(), "Put row");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("1");
    await tabTo(/^Column$/);
    await page.keyboard.type("word");
    await tabTo(/^Value of word$/);
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: /^Row / }).getByText("by keyboard").waitFor();
    // The focus stays visible: something is drawn around what has it.
    await page.keyboard.press("Tab");
    const outline = await page.evaluate(() => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
      return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    });
    assert.ok(outline, "the focus cannot be seen");
    await shoot(page, "11-keyboard");
    await page.keyboard.press("Escape");
    await firstKey(page, "1");
  },
  { full: true, needs: ["locators"] },
);

test(
  "P1: partitions are seen to split while a table is imported in the console",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "partitions");
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
    await page.getByRole("button", { name: /zipcodes\.csv/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create table and import" }).click();
    const partitions = page.getByRole("region", { name: "Partitions" });
    await partitions.getByRole("button", { name: "1 partition", exact: true }).click();
    await partitions.getByRole("button", { name: /^[2-9]\d* partitions$/ }).waitFor();
    await shoot(page, "12-partitions-importing");
    await page.getByRole("region", { name: "Import" }).getByText("Imported", { exact: true }).waitFor({ timeout: 60_000 });
    // Data in memory is in no partition yet.
    await page.getByRole("button", { name: "Flush", exact: true }).click();
    await page.waitForTimeout(2000);
    // From the first key to the last, without a gap.
    const cells = await partitions.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [row.cells[1].innerText, row.cells[2].innerText]));
    assert.ok(cells.length > 1);
    cells.forEach(([from, to], i) => {
      assert.equal(from, i === 0 ? "–" : cells[i - 1][1]);
      assert.equal(to === "–", i === cells.length - 1);
    });
    await shoot(page, "13-partitions-imported");
  },
  { needs: ["locators"] },
);
