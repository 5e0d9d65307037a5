// The console follows what others write: the rows of a page, and the records of a stream.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { firstKey, keysShown, SIZES, withProgram } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";

/** Makes a table of sixty rows. */
const sixtyRows = async (stream) => {
  await db.createTable({ tableName: "rows", primaryKey: [{ name: "id", type: "INTEGER" }], ...(stream && { stream }) });
  for (let id = 0; id < 60; id++) await db.putRow({ tableName: "rows", primaryKey: { id: id * 10 }, attributes: { n: id, m: 1n } });
};

/** A console that shows a table of sixty rows, and a page of the package that has its instance open too, as `db`. */
async function withRows(t, name, viewport, stream) {
  const both = await withProgram(t, name, { viewport, fill: sixtyRows, given: stream });
  await both.page.reload();
  await both.page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: /^rows/ }).click();
  return both;
}

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `R5, W1: rows that another tab writes are shown at once, with a mark, and the page keeps its place (${size})`,
    async (t) => {
      const { page, other } = await withRows(t, "live", viewport);
      await firstKey(page, "0");
      await page.getByLabel("Rows a page").selectOption("25");
      await page.getByText("25 rows: 0 … 240").waitFor();
      await page.getByRole("button", { name: "Next page" }).click();
      await firstKey(page, "250");
      await other.evaluate(async () => {
        await db.updateRow({ tableName: "rows", primaryKey: { id: 260 }, put: { n: 7777 } });
      });
      await page.locator("td.changed", { hasText: "7777" }).waitFor();
      await page.getByText("Just now: 1 changed").waitFor();
      assert.deepEqual(await page.locator("td.changed").evaluateAll((cells) => cells.map((cell) => cell.dataset.column)), ["n"]);
      assert.deepEqual(await faults(page, "a mark"), []);
      await fitsWidth(page, "a mark");
      // What comes before the page does not move it, what comes into it stands there, and what goes is gone.
      await other.evaluate(async () => {
        await db.putRow({ tableName: "rows", primaryKey: { id: 5 } });
        await db.putRow({ tableName: "rows", primaryKey: { id: 255 } });
        await db.deleteRow({ tableName: "rows", primaryKey: { id: 270 } });
      });
      await page.getByRole("button", { name: "255", exact: true }).waitFor();
      await page.getByRole("button", { name: "270", exact: true }).waitFor({ state: "detached" });
      const keys = await keysShown(page);
      assert.deepEqual([keys[0], keys[1], keys[2], keys[3], keys.length], ["250", "255", "260", "280", 25]);

      // Typed text stays while the row changes around it; a page that is not followed stays as it was read.
      await page.locator('tr:has-text("260") td[data-column="m"]').click();
      await page.getByLabel("Value of m").fill("42");
      await other.evaluate(() => db.updateRow({ tableName: "rows", primaryKey: { id: 260 }, put: { n: 8888 } }));
      await page.locator("td.changed", { hasText: "8888" }).waitFor();
      assert.equal(await page.getByLabel("Value of m").inputValue(), "42");
      await page.keyboard.press("Escape");
      await page.getByLabel("Live").uncheck();
      await other.evaluate(() => db.deleteRow({ tableName: "rows", primaryKey: { id: 250 } }));
      await page.getByRole("button", { name: "Count rows" }).click();
      await page.getByText(/^60 rows in this range/).waitFor();
      assert.equal((await keysShown(page))[0], "250");
      await page.getByRole("button", { name: "Read again" }).click();
      await firstKey(page, "255");
    },
    { seconds: 60, needs: ["locators"] },
  );

  test(
    `ST2, W1: the records of a table's stream are shown with the columns before and after, and new ones as they come (${size})`,
    async (t) => {
      const { page, other } = await withRows(t, "recorded", viewport, { enabled: true, expirationHours: 2, originColumns: ["n"] });
      await page.getByRole("navigation", { name: "Views of the table" }).getByRole("button", { name: "Changes" }).click();
      const changes = page.getByRole("region", { name: "Changes of the table" });
      await changes.getByText("60 records").waitFor();
      await other.evaluate(() => db.updateRow({ tableName: "rows", primaryKey: { id: 30 }, put: { n: 99 }, deleteColumns: ["m"] }));
      await changes.getByText("61 records").waitFor();
      const first = (await changes.locator("tbody tr").first().innerText()).replaceAll(/\s+/g, " ");
      assert.match(first, /UPDATE 30 /);
      assert.match(first, /n 3 → 99/);
      assert.match(first, /m not recorded → no column/);
      assert.deepEqual(await faults(page, "changes"), []);
      await fitsWidth(page, "changes");

      // Not followed, nothing comes; followed again, nothing is missed.
      await changes.getByLabel("Follow").uncheck();
      await other.evaluate(() => db.deleteRow({ tableName: "rows", primaryKey: { id: 40 } }));
      await changes.getByLabel("Follow").check();
      await changes.getByText("62 records").waitFor();
      assert.match(await changes.locator("tbody tr").first().innerText(), /DELETE/);
      // The address has the view, and a row opens from its record.
      await page.reload();
      await changes.getByText("62 records").waitFor();
      await changes.getByRole("button", { name: "30", exact: true }).first().click();
      await page.getByRole("dialog", { name: "Row 30" }).waitFor();
    },
    { seconds: 60, needs: ["locators"] },
  );
}

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `V1, V8, W1: the history of a column shows each version with its change, and goes back to an older value, unless it was changed meanwhile (${size})`,
    async (t) => {
      const { page, other } = await withRows(t, "history", viewport);
      await other.evaluate(async () => {
        await db.updateTable({ tableName: "rows", maxVersions: 5 });
        const version = Date.now() - 60_000;
        for (const [at, value] of ["a red house", "a green house", "a green hut"].entries())
          await db.updateRow({ tableName: "rows", primaryKey: { id: 0 }, put: { text: [{ value, version: version + at * 1000 }] } });
      });
      const texts = () =>
        other.evaluate(async () => (await db.getRow({ tableName: "rows", primaryKey: { id: 0 }, maxVersions: 5 })).row.columns.text?.map(({ value }) => value));
      await page.reload();
      await firstKey(page, "0");
      await page.locator(".open-row").first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "History of text" }).click();
      await dialog.getByText("3 versions").waitFor();
      const changes = () =>
        dialog
          .locator("tbody tr td:nth-child(3)")
          .evaluateAll((cells) => cells.map((cell) => [...cell.children].map((part) => `${part.localName} ${part.innerText}`)));
      assert.deepEqual(
        (await changes())[1].filter((part) => !part.startsWith("span")),
        ["del red", "ins green"],
      );
      assert.deepEqual((await changes())[2], ["span the oldest that is kept"]);
      assert.deepEqual(await faults(page, "a history"), []);
      await fitsWidth(page, "a history");

      await dialog.getByRole("button", { name: "Undo" }).click();
      await dialog.getByRole("button", { name: /^Delete this version/ }).click();
      await dialog.getByText("2 versions").waitFor();
      assert.deepEqual(await texts(), ["a green house", "a red house"]);
      await dialog.getByRole("button", { name: "Put again" }).click();
      await dialog.getByRole("button", { name: /^Put this value/ }).click();
      await dialog.getByText("3 versions").waitFor();
      assert.deepEqual(await texts(), ["a red house", "a green house", "a red house"]);
      await dialog.getByText("The last change is the same as").click();
      await dialog.getByText(/update --pk/).waitFor();

      // Another program comes first.
      await other.evaluate(() => db.updateRow({ tableName: "rows", primaryKey: { id: 0 }, put: { text: "a cave" } }));
      await dialog.getByRole("button", { name: "Undo" }).click();
      await dialog.getByRole("button", { name: /^Delete this version/ }).click();
      await dialog.getByText("This column was changed meanwhile").waitFor();
      assert.equal((await texts())[0], "a cave");
      await dialog.getByText("4 versions").waitFor();
      await dialog.getByRole("button", { name: "Back to the row" }).click();
      await page.getByRole("dialog", { name: "Row 0" }).getByText("a cave").waitFor();
    },
    { seconds: 60, needs: ["locators"] },
  );
}
