// What a table has besides its rows, in the console: indexes, defined columns, columns that the store assigns, streams.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { firstKey, keysShown, SIZES, withProgram } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";

const tables = (page) => page.getByRole("navigation", { name: "Tables" });

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `T8, R6, W1: a table is made with an assigned key, defined columns, an index and a stream; a row leaves its number to the store (${size})`,
    async (t) => {
      const { page, other } = await withProgram(t, "made", { viewport });
      const button = (name) => page.getByRole("button", { name, exact: true });
      const dialog = page.getByRole("dialog");
      await tables(page).getByRole("button", { name: "Create table" }).click();
      await dialog.getByLabel("Table name").fill("orders");
      await dialog.getByLabel("Name of key column 1").fill("shop");
      await button("Key column").click();
      await dialog.getByLabel("Name of key column 2").fill("number");
      await dialog.getByLabel("Type of key column 2").selectOption("INTEGER");
      await dialog.getByLabel("the store assigns it").check();
      await dialog.getByText("Indexes, defined columns, stream, transactions").click();
      await button("Defined column").click();
      await dialog.getByLabel("Name of defined column 1").fill("customer");
      await button("Index").click();
      await dialog.getByLabel("Index name").fill("by_customer");
      await dialog.getByLabel("Record the changes of its rows").check();
      await dialog.getByRole("button", { name: "Create table" }).click();
      await dialog.getByText("Index by_customer: choose key column 1.").waitFor();
      const found = await faults(page, "a new table with everything");
      await fitsWidth(page, "a new table with everything");
      await dialog.getByLabel("Key column 1 of the index", { exact: true }).selectOption("customer");
      await dialog.getByText("The same as").click();
      await dialog.getByRole("tab", { name: "JavaScript" }).click();
      await dialog.getByText(/indexName: "by_customer"/).waitFor();
      await dialog.getByRole("button", { name: "Create table" }).click();
      await dialog.waitFor({ state: "detached" });
      const { indexes, definedColumns, primaryKey, stream } = await other.evaluate(() => db.describeTable("orders"));
      assert.deepEqual(
        [indexes.length, definedColumns, primaryKey[1].autoIncrement, stream.expirationHours],
        [1, [{ name: "customer", type: "STRING" }], true, 24],
      );

      // The store gives the number, and the console opens the row that it has got.
      await button("Put row").click();
      await dialog.getByLabel(/^shop/).fill("oslo");
      await dialog.getByRole("textbox", { name: "Column", exact: true }).fill("customer");
      await dialog.getByLabel("Value of customer").fill("ann");
      found.push(...(await faults(page, "a row with an assigned number")));
      await dialog.getByRole("button", { name: "Put row" }).click();
      // The page answers a press before the row is stored; it opens the row when it is.
      await page.getByRole("dialog", { name: /^Row oslo · / }).waitFor();
      const rows = await other.evaluate(async () => (await db.getRange({ tableName: "orders" })).rows.map((row) => row.toObject()));
      assert.equal(rows.length, 1);
      await page.getByRole("dialog", { name: new RegExp(`^Row oslo · ${rows[0].number}`) }).waitFor();
      await page.keyboard.press("Escape");

      // The index stands below its table, and is read only.
      const listed = await tables(page).locator(".table-list").first().locator(".table-name").allInnerTexts();
      assert.deepEqual(listed, ["orders", "by_customer"]);
      await tables(page)
        .getByRole("button", { name: /^by_customer/ })
        .click();
      await firstKey(page, "ann");
      for (const name of ["Put row", "Delete table", "Modify table", "Delete range"]) assert.equal(await button(name).count(), 0, name);
      await page.locator(".open-row").first().click();
      await dialog.getByText("An index is read only").waitFor();
      assert.equal(await dialog.getByRole("button", { name: /Delete|Replace|Update/ }).count(), 0);
      await page.keyboard.press("Escape");
      found.push(...(await faults(page, "an index")));
      assert.deepEqual(found, []);
    },
    { seconds: 60, needs: ["locators"] },
  );
}

/** The schema of a table of people, which has three rows and these options, in the console; and a page of the package. */
async function schemaOf(t, name, options = {}) {
  const { page, other } = await withProgram(t, name, { viewport: SIZES.desktop });
  await other.evaluate(async (options) => {
    await db.createTable({ tableName: "people", primaryKey: [{ name: "id", type: "INTEGER" }], ...options });
    for (const [id, city] of ["Rome", "Oslo", "Bern"].entries()) await db.putRow({ tableName: "people", primaryKey: { id }, attributes: { city } });
  }, options);
  await page.reload();
  await tables(page)
    .getByRole("button", { name: /^people/ })
    .click();
  await page.getByRole("navigation", { name: "Views of the table" }).getByRole("button", { name: "Schema" }).click();
  return { page, other };
}

test(
  "T8, T5, W1: defined columns are added and taken out, an index is created over the rows that there are, and dropped; a stream is changed",
  async (t) => {
    const { page, other } = await schemaOf(t, "changed");
    const defined = page.getByRole("region", { name: "Defined columns" });
    for (const [at, [name, type]] of [
      ["city", "STRING"],
      ["age", "INTEGER"],
    ].entries()) {
      await defined.getByRole("button", { name: "Defined column", exact: true }).click();
      await defined.getByLabel(`Name of defined column ${at + 1}`).fill(name);
      await defined.getByLabel(`Type of defined column ${at + 1}`).selectOption(type);
    }
    await defined.getByRole("button", { name: "Define them" }).click();
    await defined.getByRole("button", { name: "Take age out of the definition" }).waitFor();
    const indexes = page.getByRole("region", { name: "Indexes" });
    await indexes.getByRole("button", { name: "Create index" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Index name").fill("by_city");
    await dialog.getByLabel("Kind").selectOption("LOCAL");
    await dialog.getByLabel("Key column 1 of the index", { exact: true }).selectOption("city");
    await dialog.getByRole("button", { name: "Create index" }).click();
    await dialog.getByText(/begins with id, the table's partition key/).waitFor();
    const found = await faults(page, "a new index");
    await dialog.getByLabel("Kind").selectOption("GLOBAL");
    await dialog.getByRole("button", { name: "Create index" }).click();
    await dialog.waitFor({ state: "detached" });
    await indexes.getByText("complete, never expires").waitFor();
    await defined.getByText("in use").waitFor();
    found.push(...(await faults(page, "a schema")));
    await fitsWidth(page, "a schema");

    await page.getByRole("form", { name: "Stream" }).getByLabel("Record the changes of its rows").check();
    await page.getByRole("form", { name: "Stream" }).getByLabel("Hours that records are kept").fill("0");
    await page.getByText("A whole number of hours, 1 to 168.").waitFor();
    await page.getByRole("form", { name: "Stream" }).getByLabel("Hours that records are kept").fill("2");
    await page.getByRole("button", { name: "Save the stream" }).click();
    await page.getByRole("button", { name: "Save the stream" }).waitFor({ state: "detached" });
    assert.equal(await other.evaluate(async () => (await db.describeTable("people")).stream.expirationHours), 2);

    await indexes.getByRole("button", { name: "by_city", exact: true }).click();
    await firstKey(page, "Bern");
    assert.deepEqual(await keysShown(page), ["Bern", "Oslo", "Rome"]);
    await page.goBack();
    await defined.getByRole("button", { name: "Take age out of the definition" }).click();
    await defined.getByRole("button", { name: "Take age out of the definition" }).waitFor({ state: "detached" });
    await indexes.getByRole("button", { name: "Drop by_city" }).click();
    await indexes.getByRole("button", { name: "Drop it: the rows of the table stay" }).click();
    await indexes.getByText(/^None\. An index/).waitFor();
    const left = await other.evaluate(async () => [await db.listTable(), (await db.describeTable("people")).definedColumns.map(({ name }) => name)]);
    assert.deepEqual(left, [["people"], ["city"]]);
    assert.deepEqual(found, []);
  },
  { seconds: 60, needs: ["locators"] },
);

test(
  "T8, W1: the form of an index defines the columns that it needs and sets one version, in this order, when a person says so",
  async (t) => {
    const { page, other } = await schemaOf(t, "needs", { maxVersions: 3 });
    await page.getByRole("button", { name: "Create index" }).click();
    const dialog = page.getByRole("dialog");
    const create = dialog.getByRole("button", { name: "Create index" });
    await dialog.getByLabel("Index name").fill("by_city");
    await dialog.getByRole("button", { name: "Defined column", exact: true }).click();
    await dialog.getByLabel("Name of defined column 1").fill("city");
    await dialog.getByLabel("Key column 1 of the index", { exact: true }).selectOption("city");
    await create.click();
    await dialog.getByText("max versions is 3.").waitFor();
    assert.deepEqual((await other.evaluate(() => db.describeTable("people"))).definedColumns, [], "nothing was done");
    await dialog.getByLabel(/^Set max versions to 1/).check();
    const found = await faults(page, "an index with its needs");
    await fitsWidth(page, "an index with its needs");
    assert.deepEqual(await dialog.locator(".same-as summary").allInnerTexts(), ["The same as, first …", "then …", "then …"]);
    // A tab that is quicker takes the name: what was done before stays, and the form shows it.
    await other.evaluate(() => db.createTable({ tableName: "taken", primaryKey: [{ name: "id", type: "INTEGER" }] }));
    await dialog.getByLabel("Index name").fill("taken");
    await create.click();
    await dialog.getByRole("alert").filter({ hasText: "taken" }).waitFor();
    const { maxVersions, definedColumns } = await other.evaluate(() => db.describeTable("people"));
    assert.deepEqual([maxVersions, definedColumns], [1, [{ name: "city", type: "STRING" }]]);
    assert.deepEqual(await dialog.locator(".same-as summary").allInnerTexts(), ["The same as …"]);
    await dialog.getByLabel("Index name").fill("by_city");
    await create.click();
    await dialog.waitFor({ state: "detached" });
    await tables(page)
      .getByRole("button", { name: /^by_city/ })
      .click();
    await firstKey(page, "Bern");
    assert.deepEqual(await keysShown(page), ["Bern", "Oslo", "Rome"]);
    assert.equal(await tables(page).locator(".number").innerText(), "2", "an index is no table");
    assert.deepEqual(found, []);
  },
  { seconds: 60, needs: ["locators"] },
);
