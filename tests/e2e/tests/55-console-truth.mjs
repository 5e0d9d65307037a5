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
