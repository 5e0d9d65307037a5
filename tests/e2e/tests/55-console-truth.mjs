// The console tells what is so, and loses nothing without a word: data that is gone, rows that another tab has changed, addresses
// that name nothing, and tables that are too wide to be shown whole.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { load, startBrowser } from "../support/browser.mjs";
import { firstKey, importSet, openConsole, openInstance, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { engine } from "../support/engine.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
/** Sends the dialog of a row: the page behind it has a button of that name too. */
const send = (page) => page.getByRole("dialog").getByRole("button", { name: "Put row" }).click();
const dialogOf = (page, name) => page.getByRole("dialog", { name });

/** A console with a new instance, and a page of the package that has it open too, as `db`. */
async function withProgram(t, name, viewport = VIEWPORT) {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport });
  const page = await openConsole(t, context, server);
  await openInstance(page, name);
  const other = await context.newPage();
  await load(other, server, "/package/");
  await other.evaluate(async (name) => { globalThis.db = await T.open(name, { create: false }); }, name);
  await page.bringToFront();
  return { server, context, page, other };
}

/** The names of the instances, as the package lists them. */
const instances = (page) => page.evaluate(async () => {
  const { listInstances } = await import("/package/pkg/index.js");
  return (await listInstances()).map(({ name }) => name);
});

for (const kinds of ["indexeddb,file_systems", "all"]) {
  test(`W1: when the site's data is cleared, the console says that the instance is gone, and makes no empty one in its place (${kinds})`, async (t) => {
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
  }, { needs: ["locators", "clear"] });
}

test("W1: an address that names no instance makes none; a person may do so", async (t) => {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport: VIEWPORT });
  const page = await openConsole(t, context, server, "#/typo-1/stocks");
  await page.getByRole("alert").getByText("There is no instance called “typo-1”").waitFor();
  assert.deepEqual(await instances(page), []);
  await shoot(page, "81-no-instance");
  // Nor does a second address, or one with a clock.
  await page.evaluate(() => { location.hash = "#/typo-2?clock=5"; });
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
  await page.getByText("None yet.").waitFor();
  await openInstance(page, "typo-3");
  await press(page, "Close instance");
  await press(page, "Delete typo-3");
  await press(page, "Delete instance");
  await page.getByText("None yet.").waitFor();
  for (const name of ["typo-3", "typo-2"]) {
    await page.evaluate((name) => { location.hash = `#/${name}`; }, name);
    await page.getByText(`There is no instance called “${name}”`).waitFor();
  }
  assert.deepEqual(await instances(page), []);
}, { needs: ["locators"] });

test("W1: where ten instances are there, the console says that one has to go before another comes", async (t) => {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport: VIEWPORT });
  const page = await openConsole(t, context, server);
  await page.evaluate(async () => {
    const { createInstance } = await import("/package/pkg/index.js");
    for (let i = 0; i < 10; i++) await createInstance(`full-${i}`);
  });
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
}, { needs: ["locators"] });

test("R3, W1: a range of which only a later key column is typed is refused by name, not ignored", async (t) => {
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
}, { needs: ["locators"] });

test("W1: a file with 1,000 columns is planned some columns at a time, and imported whole", async (t) => {
  const { page, other } = await withProgram(t, "wide-file");
  const names = Array.from({ length: 1000 }, (_, i) => `c${i}`);
  const lines = Array.from({ length: 3 }, (_, row) => [row, ...names.map((_, i) => row * 1000 + i)].join());
  await page.getByRole("main").getByRole("button", { name: "Import data" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("input[type=file]").setInputFiles({ name: "wide.csv", mimeType: "", buffer: Buffer.from([["id", ...names].join(), ...lines].join("\n")) });
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
}, { needs: ["locators"] });

test("I5, W1: each tree of the engine is called what it is", async (t) => {
  const { page, other } = await withProgram(t, "trees");
  await other.evaluate(async () => {
    await db.createTable({ tableName: "events", primaryKey: [{ name: "id", type: "INTEGER" }], stream: { enabled: true, expirationHours: 24 } });
    for (let id = 0; id < 20; id++) await db.putRow({ tableName: "events", primaryKey: { id }, attributes: { n: id } });
    await db.flush();
  });
  const trees = page.locator(".engine .tree h4");
  await trees.getByText("events", { exact: true }).waitFor();
  const names = await trees.allInnerTexts();
  assert.deepEqual(new Set(names).size, names.length, names.join(", "));
  for (const name of [/^catalogue$/, /^capacity meter$/, /^answers to other tabs$/, /^records of a stream, tree \d+$/]) assert.ok(names.some((one) => name.test(one)), `${name} is among ${names.join(", ")}`);
}, { needs: ["locators"] });
