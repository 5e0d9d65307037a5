// The console as a daily tool: rows are filtered, counted and laid out, edited in place, chosen and deleted.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { load, startBrowser } from "../support/browser.mjs";
import { firstKey, keysShown, openConsole, openInstance, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

/** A console with a new instance, and a page of the package that has it open too, as `db`; `fill` runs there first. */
async function withProgram(t, name, fill, viewport = VIEWPORT) {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport });
  const page = await openConsole(t, context, server);
  await openInstance(page, name);
  const other = await context.newPage();
  await load(other, server, "/package/");
  await other.evaluate(async (name) => {
    globalThis.db = await T.open(name, { create: false });
  }, name);
  await other.evaluate(fill);
  await page.bringToFront();
  return { server, context, page, other };
}

/** A place in the console of an instance. */
const show = async (page, hash) => {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, hash);
  await page.reload();
};

/** Twelve thousand readings, of which every thousandth is wet. */
const readings = async () => {
  await db.createTable({ tableName: "reading", primaryKey: [{ name: "id", type: "INTEGER" }] });
  await db.importRows(
    "reading",
    new Blob([
      Array.from({ length: 12_000 }, (_, id) => JSON.stringify({ id, wet: id % 1000 === 999, n: id % 7, ...(id % 2 === 0 ? { note: `n${id}` } : {}) })).join(
        "\n",
      ),
    ]),
    { format: "ndjson" },
  );
};

for (const [size, viewport] of Object.entries(SIZES)) {
  test(
    `R3, R6, W1: rows are found by a filter that the address keeps, counted with their units, and shown by chosen columns (${size})`,
    async (t) => {
      const { page } = await withProgram(t, "found", readings, viewport);
      await show(page, "#/found/reading");
      await firstKey(page, "0");
      const panel = page.getByRole("form", { name: "Filter" });
      await page.getByRole("button", { name: "Filter: none" }).click();
      await panel.getByLabel("Column of condition 1").fill("wet");
      await panel.getByLabel("Type of condition 1").waitFor();
      assert.equal(await panel.getByLabel("Type of condition 1").inputValue(), "BOOLEAN", "a known column has its type");
      await panel.getByRole("button", { name: "Apply filter" }).click();
      await panel.getByText("Condition 1, on wet:").waitFor();
      await panel.getByLabel("Value of condition 1").selectOption("true");
      await panel.getByRole("button", { name: "Apply filter" }).click();
      await firstKey(page, "999");
      assert.equal((await keysShown(page)).length, 12, "the search goes on behind 5000 rows");
      await page.getByRole("button", { name: "Count rows" }).click();
      await page.getByText(/^12 rows match: counted with \d+ read units/).waitFor();
      await page
        .locator(".pager-place")
        .getByText(/12 rows: 999 … 11999, \d\d+ read units/)
        .waitFor();

      // A second condition, and either of both.
      await panel.getByRole("button", { name: "Condition", exact: true }).click();
      await panel.getByLabel("Column of condition 2").fill("id");
      await panel.getByLabel("Comparator of condition 2").selectOption("LESS_THAN");
      await panel.getByLabel("Value of condition 2").fill("2");
      await panel.getByLabel("How the conditions are joined").selectOption("any");
      const found = [...(await faults(page, "a filter")), ...(await fitsWidth(page, "a filter"), [])];
      await panel.getByRole("button", { name: "Apply filter" }).click();
      await firstKey(page, "0");
      assert.equal((await keysShown(page)).length, 14);
      await page.getByLabel("Rows a page").selectOption("25");

      await page.getByRole("button", { name: "Columns: all" }).click();
      const columns = page.getByRole("region", { name: "Columns to show" });
      await columns.getByLabel("wet", { exact: true }).uncheck();
      await columns.getByRole("button", { name: "Show note earlier" }).click();
      found.push(...(await faults(page, "the columns")));
      await fitsWidth(page, "the columns");
      assert.deepEqual(found, []);
      const heads = () => page.locator(".browser table.grid thead th").evaluateAll((all) => all.map((one) => one.innerText.split("\n")[0].trim()));
      assert.deepEqual((await heads()).slice(-2), ["note", "n"]);

      // The address has all of it, and the back button goes a filter back.
      await page.reload();
      await firstKey(page, "0");
      assert.deepEqual(
        [(await heads()).slice(-2), (await keysShown(page)).length, await page.getByLabel("Rows a page").inputValue()],
        [["note", "n"], 14, "25"],
      );
      await page.goBack();
      await firstKey(page, "999");
      await page.evaluate(() => {
        location.hash = "#/found/reading?where=nonsense";
      });
      await page.getByRole("alert").getByText("The address has a filter that cannot be read.").waitFor();
    },
    { seconds: 90, needs: ["locators"] },
  );
}
