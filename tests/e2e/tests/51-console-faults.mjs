// The console says what a person has to know: imports that were cut off, rules that refuse a call, values that are not what they look like.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { importSet, press, SIZES, withProgram } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";

/** A console that shows a new table, and a page of the package that has its instance open too, as `db`. */
async function withTable(t, name, viewport) {
  const fill = () => db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
  const both = await withProgram(t, name, { viewport, fill });
  await both.page.reload();
  await both.page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: /^t / }).click();
  return both;
}

test(
  "W1: the card of an import that has ended stands at its table only, and a reload in the middle asks, and leaves a trace",
  async (t) => {
    const { page } = await withTable(t, "cut");
    const job = await importSet(page, "stocks.csv");
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: /^t / }).click();
    await job.waitFor({ state: "detached" });
    await page.goBack();
    await job.waitFor();
    await page.getByLabel("Start of the range, symbol").fill("AAPL");
    await page.getByLabel("Start of the range, date").fill("2009");
    await press(page, "Apply range");
    await page
      .locator(".pager-place")
      .getByText(/AAPL · 2009-01-01/)
      .waitFor();
    await job.getByRole("button", { name: "Close" }).click();

    let asked = 0;
    page.on("dialog", (dialog) => {
      asked += 1;
      void dialog.accept();
    });
    await press(page, "Import data");
    await page.getByRole("button", { name: /flights-by-booking/ }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Create table and import/ })
      .click();
    await page.getByRole("region", { name: "Import" }).getByText("Importing").first().waitFor();
    await page.reload();
    assert.equal(asked, 1, "the browser asked");
    const told = page.getByRole("alert").filter({ hasText: "The import of flights-by-booking.csv into bookings was cut off" });
    await told.waitFor();
    assert.deepEqual(await faults(page, "an import that was cut off"), []);
    await told.getByRole("button", { name: "Close" }).click();
    await told.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { name: "bookings", level: 1 }).waitFor();
    assert.equal(await told.count(), 0);
  },
  { full: true, seconds: 90, needs: ["locators"] },
);

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `V6, R6, T6, W1: refusals name the rule: the window of versions, the condition, the next time; a wrong name stands at its field (${size})`,
    async (t) => {
      const { page, other } = await withTable(t, "rules", viewport);
      const dialog = page.getByRole("dialog");
      await other.evaluate(() => db.putRow({ tableName: "t", primaryKey: { id: "a" }, attributes: { n: 1 } }));
      await press(page, "Put row");
      await dialog.getByLabel(/^id/).fill("a");
      await dialog.getByRole("button", { name: "Put row" }).click();
      await dialog.getByText("There is a row with this key already.").waitFor();
      await dialog.getByRole("textbox", { name: "Column", exact: true }).fill("temp");
      await dialog.getByLabel("Value of temp").fill("x");
      await dialog.getByLabel("Version of temp").fill("1000000000000");
      await dialog.getByLabel(/^id/).fill("b");
      await dialog.getByRole("button", { name: "Put row" }).click();
      await dialog.getByText(/the version 2001-09-09 01:46:40\.000 UTC has to be at least 20\d\d-/).waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();

      await other.evaluate(() => db.updateTable({ tableName: "t", reservedThroughput: { read: 1 } }));
      await press(page, "Modify table");
      await dialog.getByLabel("Read units a second").fill("7");
      await press(page, "Save changes");
      await dialog.getByText(/too frequent\. Nothing was changed\. It can be changed again from \d\d:\d\d:\d\d UTC on\./).waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();

      await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Create table" }).click();
      await dialog.getByLabel("Table name").fill("t");
      await dialog.getByRole("button", { name: "Create table" }).click();
      await dialog.locator(".field", { hasText: "Table name" }).getByText("There is a table called t already.").waitFor();
      assert.equal(await dialog.getByLabel("Table name").getAttribute("aria-invalid"), "true");
      await dialog.getByLabel("Table name").fill("t2");
      await dialog.locator(".field", { hasText: "Table name" }).getByText("There is a table called t already.").waitFor({ state: "detached" });
    },
    { seconds: 60, needs: ["locators"] },
  );

  test(
    `D2, T3, W1: a key of 1,024 bytes is seen whole, a long value is seen, copied and saved whole, and what turns a text round is marked (${size})`,
    async (t) => {
      const { page, other } = await withTable(t, "long", viewport);
      await other.evaluate(async () => {
        const attributes = { big: "x".repeat(2_000_000), turned: "user\u202Egnp.exe", bytes: new Uint8Array(1000).fill(7) };
        await db.putRow({ tableName: "t", primaryKey: { id: "k".repeat(1023) + "!" }, attributes });
      });
      await page.getByText("1 row: ").waitFor();
      await page.getByText("user⟨U+202E⟩gnp.exe").waitFor();
      await page.locator(".open-row").first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(/^k{1023}!$/).waitFor();
      await dialog.getByText("1.9 MB").waitFor();
      await fitsWidth(page, "a long key");
      assert.deepEqual(await faults(page, "long values"), []);
      await dialog.getByRole("button", { name: "Show all of it" }).first().click();
      assert.equal((await dialog.getByLabel("The whole value of big").inputValue()).length, 2_000_000);
      const download = page.waitForEvent("download");
      await dialog.getByRole("button", { name: "Save the value of bytes as a file" }).click();
      assert.equal((await download).suggestedFilename(), "bytes.bin");
    },
    { seconds: 60, needs: ["locators", "downloads"] },
  );
}
