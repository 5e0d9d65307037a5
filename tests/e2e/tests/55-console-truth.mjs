// The console tells what is so, and loses nothing without a word: data that is gone, rows that another tab has changed, addresses
// that name nothing, and tables that are too wide to be shown whole.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { firstKey, importSet, openConsole, openInstance, press, shoot, showForm, SIZES, VIEWPORT, withProgram } from "../support/console.mjs";
import { engine } from "../support/engine.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

/** Sends the dialog of a row: the page behind it has a button of that name too. */
const send = (page) => page.getByRole("dialog").getByRole("button", { name: "Put row" }).click();
const dialogOf = (page, name) => page.getByRole("dialog", { name });

/** The names of the instances, as the package lists them. */
const instances = (page) =>
  page.evaluate(async () => {
    const { listInstances } = await import("/package/pkg/index.js");
    return (await listInstances()).map(({ name }) => name);
  });

for (const kinds of ["indexeddb,file_systems", "all"]) {
  test(
    `W1: when the site's data is cleared, the console says that the instance is gone, and makes no empty one in its place (${kinds})`,
    async (t) => {
      const server = await serveConsole(t);
      const context = await startBrowser(t, { viewport: VIEWPORT });
      const page = await openConsole(t, context, server);
      await openInstance(page, "cleared");
      await importSet(page, "stocks.csv");
      await engine.clear(context, page, server, kinds);
      const alert = page.getByRole("alert");
      await alert.getByText("“cleared” can no longer be used here").waitFor();
      await alert.getByText(/no longer in this browser/).waitFor();
      const said = await alert.innerText();
      assert.match(said, /the site's data was cleared\. [A-Z]/, "sentences end");
      assert.doesNotMatch(said, /is stored/);
      await shoot(page, `80-cleared-${kinds}`);
      await press(page, "Open it again");
      // Of what a page needs for another engine, the browser may have cleared something too.
      const missing = page.getByText("There is no instance called “cleared”");
      const reload = page.getByRole("button", { name: "Reload the page" });
      await missing.or(reload).waitFor();
      if (await reload.isVisible()) await reload.click();
      await missing.waitFor();
      await page.reload();
      await missing.waitFor();
      assert.deepEqual(await instances(page), []);
    },
    { needs: ["locators", "clear"] },
  );
}

test(
  "W1: an address that names no instance makes none; a person may do so",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server, "#/typo-1/stocks");
    await page.getByRole("alert").getByText("There is no instance called “typo-1”").waitFor();
    assert.deepEqual(await instances(page), []);
    await shoot(page, "81-no-instance");
    // Nor does a second address, or one with a clock.
    await page.evaluate(() => {
      location.hash = "#/typo-2?clock=5";
    });
    await page.getByRole("alert").getByText("There is no instance called “typo-2”").waitFor();
    assert.deepEqual(await instances(page), []);
    await press(page, "Create it");
    await page.getByRole("heading", { name: "An empty instance" }).waitFor();
    assert.deepEqual(await instances(page), ["typo-2"]);
    await page.reload();
    await page.getByRole("heading", { name: "An empty instance" }).waitFor();
    // What the form has made once, an address does not make again.
    await press(page, "Close instance");
    await press(page, "Delete typo-2");
    await press(page, "Delete instance");
    await page.getByRole("button", { name: "Open my instance" }).waitFor();
    await showForm(page);
    await page.getByText("None yet.").waitFor();
    await openInstance(page, "typo-3");
    await press(page, "Close instance");
    await press(page, "Delete typo-3");
    await press(page, "Delete instance");
    await page.getByRole("button", { name: "Open my instance" }).waitFor();
    await showForm(page);
    await page.getByText("None yet.").waitFor();
    for (const name of ["typo-3", "typo-2"]) {
      await page.evaluate((name) => {
        location.hash = `#/${name}`;
      }, name);
      await page.getByText(`There is no instance called “${name}”`).waitFor();
    }
    assert.deepEqual(await instances(page), []);
  },
  { needs: ["locators"] },
);

test(
  "W1: an instance that opens after a person has gone to another one is closed, and not shown",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    for (const name of ["quick", "slow"]) {
      await openInstance(page, name);
      await press(page, "Close instance");
      // Who opens it while it is still being closed gets the engine that is there.
      await page.waitForFunction(async (name) => !(await navigator.locks.query()).held.some((lock) => lock.name === `tabstore/${name}`), name);
    }
    const go = (name) =>
      page.evaluate((name) => {
        location.hash = `#/${name}`;
      }, name);
    // Its worker gets the order to open late.
    await page.evaluate(() => {
      const { postMessage, terminate } = Worker.prototype;
      let slow;
      Object.assign(globalThis, { late: undefined, ended: false });
      Worker.prototype.postMessage = function (message, ...rest) {
        const post = () => postMessage.call(this, message, ...rest);
        if (message.kind !== "open" || message.options.name !== "slow") return post();
        slow = this;
        globalThis.late = post;
      };
      Worker.prototype.terminate = function () {
        ended ||= this === slow;
        terminate.call(this);
      };
    });
    await go("slow");
    await page.waitForFunction(() => late !== undefined);
    await go("quick");
    const name = page.locator(".instance-chip").getByText("quick");
    await name.waitFor();
    await page.evaluate(() => late());
    await page.waitForFunction(() => ended);
    assert.equal(await name.isVisible(), true);
    await press(page, "Close instance");
  },
  { full: true, needs: ["locators"] },
);

test(
  "W1: where ten instances are there, the console says that one has to go before another comes",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await page.evaluate(async () => {
      const { createInstance } = await import("/package/pkg/index.js");
      for (let i = 0; i < 10; i++) await createInstance(`full-${i}`);
    });
    await showForm(page);
    await page.getByRole("textbox", { name: "Name" }).fill("eleventh");
    await page.getByRole("button", { name: "Open", exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("OTSQuotaExhausted").waitFor();
    await alert.getByText(/Delete one that you do not need/).waitFor();
    await press(page, "Delete full-3");
    await press(page, "Delete instance");
    await page.getByRole("button", { name: "Delete full-3" }).waitFor({ state: "detached" });
    await press(page, "Try again");
    await page.getByRole("heading", { name: "An empty instance" }).waitFor();
  },
  { full: true, needs: ["locators"] },
);

/** A console with the dialog of a row that a program changes elsewhere. */
async function withRow(t, name, viewport, maxVersions = 3) {
  const all = await withProgram(t, name, { viewport });
  const { page, other } = all;
  await other.evaluate(async (maxVersions) => {
    await db.createTable({ tableName: "books", primaryKey: [{ name: "id", type: "STRING" }], maxVersions });
    await db.putRow({ tableName: "books", primaryKey: { id: "a" }, attributes: { title: "Dreams", price: T.double(12), note: "" } });
  }, maxVersions);
  await page.reload();
  await page
    .getByRole("navigation", { name: "Tables" })
    .getByRole("button", { name: /^books/ })
    .click();
  await firstKey(page, "a");
  await press(page, "a");
  await dialogOf(page, /^Row /).locator(".versions").waitFor();
  return all;
}

const change = (other, put) => other.evaluate((put) => db.updateRow({ tableName: "books", primaryKey: { id: "a" }, put }), put);
const stored = (other) =>
  other.evaluate(async () => {
    const { row } = await db.getRow({ tableName: "books", primaryKey: { id: "a" } });
    return row === null ? null : Object.fromEntries(row.columnNames.map((name) => [name, row.get(name)]));
  });

test(
  "R1, R6, W1: a row that somebody else has changed is not replaced without a word: what is stored stands beside what was typed",
  async (t) => {
    const { page, other } = await withRow(t, "replace");
    await press(page, "Replace row");
    const dialog = dialogOf(page, /^Replace /);
    await dialog.getByLabel("Value of title").fill("Dreams, second edition");
    await change(other, { important: "do not lose me" });
    await send(page);
    await dialog.getByText("This row is not as it was read").waitFor();
    assert.deepEqual(await stored(other), { title: "Dreams", price: 12, note: "", important: "do not lose me" }, "nothing was stored");
    const cells = (column) =>
      dialog
        .getByRole("row", { name: new RegExp(`^${column}`) })
        .getByRole("cell")
        .allInnerTexts();
    assert.deepEqual(await cells("important"), ["do not lose me STRING", "none"]);
    assert.deepEqual(await cells("title"), ["Dreams STRING", "Dreams, second edition STRING"]);
    assert.deepEqual(await cells("price"), ["12.0 DOUBLE", "12.0 DOUBLE"]);
    assert.match(await dialog.getByRole("rowheader", { name: /^important/ }).innerText(), /changed elsewhere/);
    assert.doesNotMatch(await dialog.getByRole("rowheader", { name: /^title/ }).innerText(), /changed elsewhere/);
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Reload", "the focus is on what loses nothing that is stored");
    await shoot(page, "82-row-conflict");

    // What was typed is still there, and no key takes it. Then what is stored is taken.
    await press(page, "Go on editing");
    assert.equal(await dialog.getByLabel("Value of title").inputValue(), "Dreams, second edition");
    await page.keyboard.press("Escape");
    await press(page, "Keep typing");
    await send(page);
    await press(page, "Reload");
    assert.equal(await dialog.getByLabel("Value of important").inputValue(), "do not lose me");
    assert.equal(await dialog.getByLabel("Value of title").inputValue(), "Dreams");
    await dialog.getByLabel("Value of title").fill("Dreams, third edition");
    await send(page);
    await dialogOf(page, /^Row /).getByText("Dreams, third edition").waitFor();
    assert.deepEqual(await stored(other), { title: "Dreams, third edition", price: 12, note: "", important: "do not lose me" });

    // The same value with another version is a change too. It can be overwritten by who has seen it.
    await press(page, "Replace row");
    await press(page, "Leave out important");
    await change(other, { title: "Dreams, third edition" });
    await send(page);
    await dialog.getByText("This row is not as it was read").waitFor();
    assert.match(await dialog.getByRole("rowheader", { name: /^title/ }).innerText(), /changed elsewhere/);
    await press(page, "Overwrite");
    await dialogOf(page, /^Row /).locator(".versions").waitFor();
    assert.deepEqual(await stored(other), { title: "Dreams, third edition", price: 12, note: "" });

    // A row that is gone does not come back by itself.
    await press(page, "Replace row");
    await other.evaluate(() => db.deleteRow({ tableName: "books", primaryKey: { id: "a" } }));
    await send(page);
    await dialog.getByText("There is no such row any more").waitFor();
    assert.equal(await stored(other), null);
    await press(page, "Reload");
    await dialogOf(page, /^Row /).getByText("There is no such row any more").waitFor();
    assert.equal(await stored(other), null);
  },
  { needs: ["locators"] },
);

test(
  "R1, R6, W1: a row that somebody else has changed is not deleted without a word, nor is a column of it",
  async (t) => {
    const { page, other } = await withRow(t, "delete");
    const dialog = dialogOf(page, /^Row /);
    await change(other, { important: "do not lose me" });
    await press(page, "Delete row");
    await press(page, "Delete all versions of it");
    await dialog.getByText("This row is not as it was read").waitFor();
    await dialog.getByRole("columnheader", { name: "After your delete" }).waitFor();
    assert.equal((await stored(other)).important, "do not lose me");
    await press(page, "Reload");
    await dialog.locator(".versions").getByText("do not lose me").waitFor();
    await change(other, { title: "New title" });
    await press(page, "Delete the column title with all its versions");
    await dialog.getByText("This row is not as it was read").waitFor();
    await press(page, "Reload");
    await dialog.locator(".versions").getByText("New title").waitFor();
    // A change of another column does not matter to it.
    await change(other, { price: 13 });
    await press(page, "Delete the column title with all its versions");
    await dialog.locator(".versions").getByText("New title").waitFor({ state: "detached" });
    assert.deepEqual(await stored(other), { price: 13, note: "", important: "do not lose me" });
    await change(other, { price: 14 });
    await press(page, "Delete row");
    await press(page, "Delete all versions of it");
    await press(page, "Delete it anyway");
    await page.getByText("There are no rows in this range.").waitFor();
    assert.equal(await stored(other), null);
  },
  { needs: ["locators"] },
);

test(
  "R1, R6, W1: where a table keeps one version, a value that somebody else has changed is not overwritten without a word",
  async (t) => {
    const { page, other } = await withRow(t, "one-version", VIEWPORT, 1);
    const dialog = dialogOf(page, /^Row /);
    const update = async (column, value) => {
      await dialog.getByLabel("Column", { exact: true }).fill(column);
      await dialog.getByLabel("Value", { exact: true }).fill(value);
      await press(page, "Update");
    };
    // A change of another column does not matter.
    await change(other, { price: 13 });
    await update("title", "Mine");
    await dialog.locator(".versions").getByText("Mine").waitFor();
    await change(other, { title: "Theirs" });
    await update("title", "Mine again");
    await dialog.getByRole("columnheader", { name: "After your update" }).waitFor();
    assert.deepEqual(
      await dialog
        .getByRole("row", { name: /^title/ })
        .getByRole("cell")
        .allInnerTexts(),
      ["Theirs STRING", "Mine again STRING"],
    );
    assert.deepEqual(
      await dialog
        .getByRole("row", { name: /^price/ })
        .getByRole("cell")
        .allInnerTexts(),
      ["13 INTEGER", "13 INTEGER"],
    );
    assert.equal((await stored(other)).title, "Theirs");
    await press(page, "Overwrite");
    await dialog.locator(".versions").getByText("Mine again").waitFor();
    // Nor a column that has come meanwhile.
    await change(other, { fresh: "theirs" });
    await update("fresh", "mine");
    await dialog.getByText("This row is not as it was read").waitFor();
    await press(page, "Reload");
    await dialog.locator(".versions").getByText("theirs").waitFor();
    assert.deepEqual(await stored(other), { title: "Mine again", price: 13, note: "", fresh: "theirs" });
  },
  { needs: ["locators"] },
);

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1: axe finds nothing where values are empty, rows have changed and instances are missing (${size}, light and dark)`,
    async (t) => {
      const { server, page, other } = await withRow(t, "axe-truth", viewport);
      const findings = [];
      const look = async (name) => {
        findings.push(...(await faults(page, name, (scheme) => shoot(page, `83-${name.replaceAll(" ", "-")}-${size}-${scheme}`))));
        await page.emulateMedia({ colorScheme: "light" });
        await fitsWidth(page, name);
      };
      await look("a row with an empty value");
      await press(page, "Replace row");
      await change(other, { important: "do not lose me" });
      await send(page);
      await dialogOf(page, /^Replace /)
        .getByText("This row is not as it was read")
        .waitFor();
      await look("a changed row");
      assert.ok(
        await page.evaluate(() => [...document.querySelectorAll("dialog[open] .grid-scroll")].every((box) => box.scrollWidth <= box.clientWidth)),
        "nothing has to be scrolled sideways",
      );
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await look("rows with an empty value");
      await page.goto(`${server.origin}/#/missing`);
      await page.getByText("There is no instance called “missing”").waitFor();
      await look("no instance");
      assert.deepEqual(findings, []);
    },
    { full: true, seconds: 120, needs: ["locators"] },
  );
}

test(
  "R3, W1: a range of which only a later key column is typed is refused by name, not ignored",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "second-key");
    await importSet(page, "stocks.csv");
    await firstKey(page, "AAPL");
    await page.getByLabel("Start of the range, date").fill("2009");
    await press(page, "Apply range");
    await page.getByRole("alert").getByText("The start of the range gives date, but not symbol").waitFor();
    assert.equal(await page.locator(".browser table.grid").count(), 0, "no rows are shown for a range that cannot be");
    await shoot(page, "84-second-key");
    await page.getByLabel("Start of the range, symbol").fill("IBM");
    await press(page, "Apply range");
    await firstKey(page, "IBM");
  },
  { needs: ["locators"] },
);

/** Notes the longest task of a page from now on, as `longest`; 0 where a browser does not tell. */
const noteTasks = (page) =>
  page.evaluate(() => {
    globalThis.longest = 0;
    if (!PerformanceObserver.supportedEntryTypes.includes("longtask")) return;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
    }).observe({ type: "longtask" });
  });

test(
  "W1: of a table with 1,000 columns those in sight are drawn, by mouse, by keyboard and by buttons; its row can be read and replaced",
  async (t) => {
    const { page, other } = await withProgram(t, "wide");
    await other.evaluate(async () => {
      await db.createTable({ tableName: "wide", primaryKey: [{ name: "id", type: "INTEGER" }] });
      const names = Array.from({ length: 1000 }, (_, i) => `c${String(i).padStart(4, "0")}`);
      for (let id = 0; id < 50; id++)
        await db.putRow({ tableName: "wide", primaryKey: { id }, attributes: Object.fromEntries(names.map((name, i) => [name, id * 1000 + i])) });
    });
    await page.reload();
    await noteTasks(page);
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: /^wide/ }).click();
    await firstKey(page, "0");
    const grid = page.locator(".browser > .grid-scroll");
    const cells = () => grid.locator("td").count();
    const columns = page.getByRole("group", { name: "Columns" });
    await columns.getByText(/^Columns 1 to \d of 1,000: c0000 … c000\d$/).waitFor();
    assert.ok((await cells()) <= 50 * 15, `${await cells()} cells are drawn`);
    await shoot(page, "85-wide");
    await columns.getByRole("button", { name: "Next columns" }).click();
    await columns.getByText(/^Columns [2-9] to \d+ of 1,000/).waitFor();
    assert.ok(await columns.getByRole("button", { name: "First columns" }).isEnabled());
    // To any place, and there are the values of that place.
    await grid.evaluate((element) => element.scrollTo({ left: 500 * 150 }));
    await columns.getByText(/^Columns 501 to \d+ of 1,000: c0500/).waitFor();
    await grid.locator("td[data-column=c0503]").first().getByText("503", { exact: true }).waitFor();
    // The keyboard goes on from cell to cell, and the window follows.
    await grid.locator("td[data-column=c0500]").first().focus();
    for (let step = 1; step <= 20; step++) {
      await page.keyboard.press("ArrowRight");
      await page.waitForFunction((name) => document.activeElement.dataset.column === name, `c0${500 + step}`);
    }
    assert.deepEqual(await page.evaluate(() => [document.activeElement.innerText, document.activeElement.ariaColIndex]), ["520", "522"]);
    const inSight = await page.evaluate(() => {
      const [cell, place] = [document.activeElement, document.querySelector(".browser > .grid-scroll")].map((one) => one.getBoundingClientRect());
      return cell.left >= place.left && cell.right <= place.right + 1;
    });
    assert.ok(inSight, "the cell with the focus is in sight");
    // A cell that is edited stays, however the table is scrolled.
    await page.keyboard.press("Enter");
    await page.getByLabel("Value of c0520").fill("-520");
    await grid.evaluate((element) => element.scrollTo({ left: 0 }));
    await page.keyboard.press("Enter");
    await page.getByText("1 change in 1 row").waitFor();
    // They stay when the rows are read again.
    await grid.evaluate((element) => element.scrollTo({ left: 500 * 150 }));
    await columns.getByText(/^Columns 501 to/).waitFor();
    await press(page, "Read again");
    await columns.getByText(/^Columns 501 to/).waitFor();
    await columns.getByRole("button", { name: "Last columns" }).click();
    await columns.getByText(/^Columns 99\d to 1,000 of 1,000: c099\d … c0999$/).waitFor();
    assert.ok(await columns.getByRole("button", { name: "Next columns" }).isDisabled());
    t.note(`the longest task took ${Math.round(await page.evaluate(() => longest))} ms`);
    assert.deepEqual(await faults(page, "a wide table"), []);
    await columns.getByRole("button", { name: "First columns" }).click();
    await columns.getByText(/^Columns 1 to/).waitFor();
    await press(page, "Discard");

    // All of a row is there, some at a time, and what is not shown is not lost.
    await page.locator(".open-row").first().click();
    const row = dialogOf(page, /^Row /);
    await row.getByText("200 of 1,000 versions are shown.").waitFor();
    await row.getByRole("button", { name: "Show 200 more" }).click();
    await row.getByText("400 of 1,000 versions are shown.").waitFor();
    await press(page, "Replace row");
    const put = dialogOf(page, /^Replace /);
    await put.getByText(/100 of 1,000 columns are shown/).waitFor();
    await put.getByLabel("Value of c0003").fill("-3");
    await send(page);
    await row.getByText("-3", { exact: true }).waitFor();
    const [count, changed, last] = await other.evaluate(async () => {
      const { row } = await db.getRow({ tableName: "wide", primaryKey: { id: 0 } });
      return [row.columnNames.length, row.get("c0003"), row.get("c0999")];
    });
    assert.deepEqual([count, changed, last], [1000, -3, 999]);
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "W1: a wide table is scrolled while 200,000 rows are imported, and the page answers",
  async (t) => {
    const { page, other } = await withProgram(t, "wide-import");
    await other.evaluate(async () => {
      await db.createTable({ tableName: "wide", primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = 0; id < 50; id++)
        await db.putRow({
          tableName: "wide",
          primaryKey: { id },
          attributes: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`c${1000 + i}`, id * i])),
        });
    });
    await page.reload();
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
    const lines = Array.from({ length: 200_000 }, (_, id) => `${id},${id % 977},name ${id},${id / 8}`);
    await page
      .getByRole("dialog")
      .locator("input[type=file]")
      .setInputFiles({ name: "many.csv", mimeType: "", buffer: Buffer.from(`id,n,name,part\n${lines.join("\n")}`) });
    await page.getByRole("button", { name: /^Create table and import/ }).click();
    const job = page.getByRole("region", { name: "Import" });
    await job.getByText("many.csv").waitFor();
    await noteTasks(page);
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: /^wide/ }).click();
    const grid = page.locator(".browser > .grid-scroll");
    let places = 0;
    do {
      places += 1;
      const column = (places * 37) % 990;
      await grid.evaluate((element, left) => element.scrollTo({ left }), column * 150);
      await page
        .locator(`td[data-column=c${1000 + column}]`)
        .first()
        .waitFor();
      // Its card goes when all is stored, because another table is shown.
    } while (await job.isVisible());
    assert.ok(places > 1, "the table was scrolled while the rows came");
    assert.equal(await other.evaluate(async () => (await db.count({ tableName: "many" })).count), 200_000);
    t.note(`the longest task took ${Math.round(await page.evaluate(() => longest))} ms, at ${places} places`);
  },
  { full: true, seconds: 90, needs: ["locators"] },
);

test(
  "W1: a file with 1,000 columns is planned some columns at a time, and imported whole",
  async (t) => {
    const { page, other } = await withProgram(t, "wide-file");
    const names = Array.from({ length: 1000 }, (_, i) => `c${i}`);
    const lines = Array.from({ length: 3 }, (_, row) => [row, ...names.map((_, i) => row * 1000 + i)].join());
    await page.getByRole("main").getByRole("button", { name: "Import data" }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .locator("input[type=file]")
      .setInputFiles({ name: "wide.csv", mimeType: "", buffer: Buffer.from([["id", ...names].join(), ...lines].join("\n")) });
    await dialog.getByText("Columns 1 to 100 of 1,001: id … c98").waitFor();
    assert.equal(await dialog.locator(".plan thead th").count(), 100);
    await dialog.getByRole("button", { name: "Last columns" }).click();
    await dialog.getByText("Columns 1,001 to 1,001 of 1,001").waitFor();
    await dialog.getByRole("checkbox", { name: "c999", exact: true }).uncheck();
    await dialog.getByRole("button", { name: /^Create table and import/ }).click();
    await page.getByText("Imported", { exact: true }).waitFor();
    const read = await other.evaluate(async () => {
      const { row } = await db.getRow({ tableName: "wide", primaryKey: { id: 2 } });
      return [row.columnNames.length, row.get("c0"), row.get("c998"), row.get("c999")];
    });
    assert.deepEqual(read, [999, 2000, 2998, undefined]);
  },
  { full: true, needs: ["locators"] },
);

test(
  "I5, W1: each tree of the engine is called what it is",
  async (t) => {
    const { page, other } = await withProgram(t, "trees");
    await other.evaluate(async () => {
      // A guest follows, so the console's engine keeps answers for it.
      await db.close();
      globalThis.db = await T.open("trees", { guest: true });
      await db.createTable({ tableName: "events", primaryKey: [{ name: "id", type: "INTEGER" }], stream: { enabled: true, expirationHours: 24 } });
      for (let id = 0; id < 20; id++) await db.putRow({ tableName: "events", primaryKey: { id }, attributes: { n: id } });
      await db.flush();
    });
    const trees = page.locator(".engine .tree h4");
    await trees.getByText("events", { exact: true }).waitFor();
    const names = await trees.allInnerTexts();
    assert.deepEqual(new Set(names).size, names.length, names.join(", "));
    for (const name of [/^catalogue$/, /^capacity meter$/, /^answers to other tabs$/, /^records of a stream, tree \d+$/])
      assert.ok(
        names.some((one) => name.test(one)),
        `${name} is among ${names.join(", ")}`,
      );
  },
  { needs: ["locators"] },
);
