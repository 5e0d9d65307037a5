// The console as a daily tool: rows are filtered, counted and laid out, edited in place, chosen and deleted.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { firstKey, goTo, keysShown, SIZES, withProgram } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";

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

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `R3, R6, W1: rows are found by a filter that the address keeps, counted with their units, and shown by chosen columns (${size})`,
    async (t) => {
      const { page } = await withProgram(t, "found", { fill: readings, viewport });
      await goTo(page, "#/found/reading");
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

/** A few people. */
const people = async () => {
  await db.createTable({ tableName: "people", primaryKey: [{ name: "id", type: "STRING" }] });
  const rows = { ann: { age: 30n, city: "Oslo" }, bob: { age: 40n, city: "Rome" }, cy: { age: 50n } };
  for (const [id, attributes] of Object.entries(rows)) await db.putRow({ tableName: "people", primaryKey: { id }, attributes });
};
const person = (other, id) => other.evaluate(async (id) => (await db.getRow({ tableName: "people", primaryKey: { id } })).row?.toObject(), id);
const cell = (page, id, column) =>
  page
    .locator(".browser table.grid tr")
    .filter({ has: page.getByRole("button", { name: id, exact: true }) })
    .locator(`td[data-column="${column}"]`);

test(
  "W1, R1: the cell that was edited stays in sight when the bar with the changes takes room from the rows",
  async (t) => {
    const fill = async () => {
      await db.createTable({ tableName: "many", primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = 0; id < 60; id++) await db.putRow({ tableName: "many", primaryKey: { id }, attributes: { text: `row ${id}` } });
    };
    const { page } = await withProgram(t, "sight", { fill, viewport: { width: 1280, height: 800 } });
    await goTo(page, "#/sight/many");
    await firstKey(page, "0");
    const last = await page.evaluate(() => {
      const { bottom } = document.querySelector(".browser > .grid-scroll").getBoundingClientRect();
      return [...document.querySelectorAll(".browser tbody tr")].findLastIndex((row) => row.getBoundingClientRect().bottom < bottom);
    });
    assert.ok(last >= 7, `${last + 1} whole rows are in sight at 1280 x 800`);
    await cell(page, String(last), "text").click();
    await page.getByLabel("Value of text").fill("edited");
    await page.keyboard.press("Enter");
    await page.getByText("1 change in 1 row").waitFor();
    const seen = await page.evaluate(() => {
      const rows = document.querySelector(".browser > .grid-scroll").getBoundingClientRect();
      const cell = document.querySelector("td.edited").getBoundingClientRect();
      return { above: rows.top, top: cell.top, bottom: cell.bottom, below: rows.bottom };
    });
    assert.ok(seen.top >= seen.above && seen.bottom <= seen.below + 1, JSON.stringify(seen));
  },
  { needs: ["locators"] },
);

test(
  "W1, R1: cells are edited in place by mouse and keyboard, changes of several rows are gathered and saved at once, or given up",
  async (t) => {
    const { page, other } = await withProgram(t, "edited", { fill: people });
    await goTo(page, "#/edited/people");
    await firstKey(page, "ann");
    await cell(page, "ann", "age").click();
    await page.getByLabel("Value of age").fill("31");
    await page.keyboard.press("Enter");
    await page.getByText("1 change in 1 row").waitFor();
    assert.deepEqual(await page.evaluate(() => [document.activeElement.dataset.column, document.activeElement.innerText.replace(/\s+/g, " ")]), [
      "age",
      "31 (not saved)",
    ]);

    // From there by keyboard: a type that does not fit is refused, Escape gives up, a missing value is put, a value is taken away.
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("F2");
    await page.getByLabel("Value of age").fill("old");
    await page.keyboard.press("Enter");
    await page.getByText("“old” is not an integer").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "40");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    assert.equal(await page.getByLabel("Type of city").inputValue(), "STRING", "the type of the column in other rows");
    await page.getByLabel("Value of city").fill("Lima");
    await page.keyboard.press("Enter");
    await cell(page, "bob", "city").click();
    await page.getByRole("button", { name: "Delete value" }).click();
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByText("3 changes in 3 rows").waitFor();
    assert.deepEqual(await person(other, "ann"), { id: "ann", age: 30, city: "Oslo" }, "nothing is written before the save");
    await changes.getByRole("button", { name: "Show them" }).click();
    assert.deepEqual(await faults(page, "changes of cells"), []);
    await changes.getByText("This row is the same as").first().click();
    await changes.getByText(/update --pk/).waitFor();

    // They outlive a look elsewhere.
    await page.getByRole("button", { name: "Units and calls" }).click();
    await page.goBack();
    await changes.getByText("3 changes in 3 rows").waitFor();
    await changes.getByRole("button", { name: "Save" }).click();
    await changes.waitFor({ state: "detached" });
    assert.deepEqual(await Promise.all(["ann", "bob", "cy"].map((id) => person(other, id))), [
      { id: "ann", age: 31, city: "Oslo" },
      { id: "bob", age: 40 },
      { id: "cy", age: 50, city: "Lima" },
    ]);

    await cell(page, "ann", "city").click();
    await page.getByLabel("Value of city").fill("Bern");
    // A click elsewhere keeps it, and edits what was clicked, although the rows below move up meanwhile.
    await cell(page, "cy", "age").click();
    await page.getByLabel("Value of age").waitFor();
    await page.keyboard.press("Escape");
    await changes.getByRole("button", { name: "Discard" }).click();
    await changes.waitFor({ state: "detached" });
    assert.equal(await cell(page, "ann", "city").innerText(), "Oslo");
  },
  { needs: ["locators"] },
);

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1, R6: of gathered changes only rows that are as they were read are written; the others stand beside what was typed (${size})`,
    async (t) => {
      const { page, other } = await withProgram(t, "conflict", { fill: people, viewport });
      await goTo(page, "#/conflict/people");
      await firstKey(page, "ann");
      const type = async (id, column, text) => {
        await cell(page, id, column).click();
        await page.getByLabel(`Value of ${column}`).fill(text);
        await page.keyboard.press("Enter");
      };
      await type("ann", "age", "31");
      await type("bob", "age", "41");
      await type("cy", "age", "51");
      await other.evaluate(async () => {
        await db.updateRow({ tableName: "people", primaryKey: { id: "ann" }, put: { city: "Paris" } });
        await db.updateRow({ tableName: "people", primaryKey: { id: "bob" }, put: { age: 99n } });
        await db.deleteRow({ tableName: "people", primaryKey: { id: "cy" } });
      });
      const changes = page.getByRole("region", { name: "Changes" });
      await changes.getByRole("button", { name: "Save" }).click();
      await changes.getByText("2 rows are not as they were read").waitFor();
      assert.deepEqual(await person(other, "ann"), { id: "ann", age: 31, city: "Paris" }, "another column of it was changed, so both are kept");
      assert.equal((await person(other, "bob")).age, 99);
      const texts = await changes.locator("tbody tr").first().innerText();
      for (const said of ["bob", "40", "99", "41"]) assert.match(texts, new RegExp(`\\b${said}\\b`));
      assert.deepEqual(await faults(page, "a conflict of cells"), []);
      await fitsWidth(page, "a conflict of cells");
      await changes.getByRole("button", { name: "Overwrite" }).first().click();
      await changes.getByText("1 change in 1 row").waitFor();
      assert.equal((await person(other, "bob")).age, 41);
      await changes.getByRole("button", { name: "Keep what is stored" }).click();
      await changes.waitFor({ state: "detached" });
      assert.equal(await person(other, "cy"), undefined);
      assert.deepEqual(await keysShown(page), ["ann", "bob"]);
    },
    { needs: ["locators"] },
  );
}

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `R2, R6, W1: rows are chosen by mouse and keyboard and deleted together, unless they were changed meanwhile (${size})`,
    async (t) => {
      const { page, other } = await withProgram(t, "chosen", { fill: people, viewport });
      await goTo(page, "#/chosen/people");
      await firstKey(page, "ann");
      const bar = page.getByRole("region", { name: "Chosen rows" });
      await page.getByRole("checkbox", { name: "Choose row ann" }).check();
      await page.getByRole("button", { name: "bob", exact: true }).focus();
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Space");
      await bar.getByText("2 rows chosen").waitFor();
      await page.getByRole("checkbox", { name: "Choose row bob" }).uncheck();
      await page.getByRole("checkbox", { name: "Choose row ann" }).click();
      await page.getByRole("checkbox", { name: "Choose row cy" }).click({ modifiers: ["Shift"] });
      await bar.getByText("3 rows chosen").waitFor();
      await page.getByRole("checkbox", { name: "Choose row cy" }).uncheck();
      await other.evaluate(() => db.updateRow({ tableName: "people", primaryKey: { id: "bob" }, put: { age: 41n } }));
      await bar.getByRole("button", { name: "Delete rows" }).click();
      const dialog = page.getByRole("dialog");
      assert.deepEqual(await faults(page, "the deletion of chosen rows"), []);
      await fitsWidth(page, "the deletion of chosen rows");
      await dialog.getByText("The same as").click();
      await dialog.getByRole("tab", { name: "JavaScript" }).click();
      await dialog.getByText(/db\.batchWriteRow\(\[/).waitFor();
      await dialog.getByRole("button", { name: "Delete 2 rows" }).click();
      await dialog.getByText("1 row deleted. 1 row was changed meanwhile and stays.").waitFor();
      assert.equal(await person(other, "ann"), undefined);
      assert.equal((await person(other, "bob")).age, 41);
      await dialog.getByRole("button", { name: "Delete them anyway" }).click();
      await dialog.waitFor({ state: "detached" });
      await firstKey(page, "cy");
      assert.equal(await person(other, "bob"), undefined);
      await page.getByRole("checkbox", { name: "Choose all rows of this page" }).check();
      await bar.getByRole("button", { name: "Choose none" }).click();
      await bar.waitFor({ state: "detached" });
    },
    { needs: ["locators"] },
  );
}

test(
  "R3, W1: the rows of a range that match a filter are counted and deleted, and the number is told; the whole table needs its name",
  async (t) => {
    const { page, other } = await withProgram(t, "ranges", { fill: readings });
    const count = () => other.evaluate(async () => (await db.count({ tableName: "reading" })).count);
    // Backward the start is the greater key, and it is included.
    const where = encodeURIComponent('["all",["wet","EQUAL","BOOLEAN","true"]]');
    await goTo(page, `#/ranges/reading?order=BACKWARD&start=["4999"]&end=["999"]&where=${where}`);
    await firstKey(page, "4999");
    await page.getByRole("button", { name: "Delete range" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4 rows of the range that match the filter are deleted, with all versions.").waitFor();
    assert.deepEqual(await faults(page, "the deletion of a range"), []);
    await other.evaluate(() => db.deleteRow({ tableName: "reading", primaryKey: { id: 1999 } }));
    await dialog.getByRole("button", { name: "Delete 4 rows" }).click();
    await dialog.getByText("3 rows deleted").waitFor();
    await dialog.getByText(/4 rows had been counted: others have written meanwhile/).waitFor();
    await dialog.getByText("The same as").click();
    await dialog.getByRole("tab", { name: "JavaScript" }).click();
    await dialog.getByText(/db\.deleteRange\(\{/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await page.getByText("There are no rows in this range.").waitFor();
    assert.equal(await count(), 11_996);

    await goTo(page, "#/ranges/reading");
    await firstKey(page, "0");
    await page.getByRole("button", { name: "Delete range" }).click();
    await dialog.getByText("11,996 rows of the whole table are deleted").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Delete 11,996 rows" }).isDisabled());
    await dialog.getByLabel("Type reading to confirm").fill("reading");
    await page.keyboard.press("Enter");
    await dialog.getByText("11,996 rows deleted").waitFor();
    assert.equal(await count(), 0);
  },
  { seconds: 90, needs: ["locators"] },
);
