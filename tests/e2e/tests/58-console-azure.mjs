// The Azure Table service in the console: accounts, tables, queries page by page, and entities that two clients change.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { firstKey, keysShown, look, openConsole, openInstance, press, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const navigation = (page) => page.getByRole("navigation", { name: "Tables" });
const panel = (page, name = /^Entity /) => page.getByRole("dialog", { name });
/** Waits until the foot of the entities says so; gives what it says. */
async function place(page, wanted) {
  const shown = page.locator(".pager-place").getByText(wanted);
  await shown.waitFor();
  return shown.innerText();
}

/** A console whose account `demo` has the sample. */
async function withSample(t, name, viewport = VIEWPORT) {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport });
  const page = await openConsole(t, context, server);
  await openInstance(page, name);
  await press(page, "Show an account");
  await press(page, "Load a sample");
  await page.getByRole("heading", { name: "stations", level: 1 }).waitFor();
  await place(page, /^Page 1, 25 entities/);
  return { server, context, page };
}

/** Opens an entity of the page that is shown. */
async function openEntity(page, key) {
  await page.getByRole("button", { name: `Open ${key}`, exact: true }).click();
  await panel(page).getByLabel("Value of Height").waitFor();
  return panel(page);
}

test(
  "Z1, W1: the console loads the Azure Table service when somebody asks for it, and makes, lists and deletes tables of accounts",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "accounts");
    const azureFiles = () => server.asked.filter((name) => /azure/.test(name));
    assert.deepEqual(azureFiles(), [], "nothing of it is loaded with the console");
    await press(page, "Show an account");
    await page.getByRole("heading", { name: "An empty account" }).waitFor();
    assert.ok(azureFiles().some((name) => name.endsWith(".js")) && azureFiles().some((name) => name.endsWith(".wasm")), azureFiles().join());

    const create = async (name) => {
      await press(page, "New Azure table");
      await page.getByRole("dialog").getByLabel("Table name").fill(name);
      await page.getByRole("dialog").getByRole("button", { name: "Create table" }).click();
    };
    await create("Planes");
    await page.getByRole("heading", { name: "Planes", level: 1 }).waitFor();
    await page.getByText("There are no entities here.").waitFor();
    await create("planes");
    await page.getByRole("alert").getByText("TableAlreadyExists").waitFor();
    await page.keyboard.press("Escape");
    await press(page, "Discard");
    await create("boats");
    await page.getByRole("heading", { name: "boats", level: 1 }).waitFor();
    assert.deepEqual(await navigation(page).locator(".table-name").allInnerTexts(), ["boats", "Planes"]);

    // Another account has tables of its own, and its name is offered from now on.
    await press(page, "Another account");
    await page.getByRole("dialog").getByLabel("Account name").fill("x");
    await page.getByRole("dialog").getByRole("button", { name: "Show account" }).click();
    await page
      .getByRole("alert")
      .getByText(/3 to 24 letters and digits/)
      .waitFor();
    await page.getByRole("dialog").getByLabel("Account name").fill("Other1");
    await page.getByRole("dialog").getByRole("button", { name: "Show account" }).click();
    await page.getByRole("heading", { name: "An empty account" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "An empty account" }).waitFor();
    assert.deepEqual(await page.getByLabel("Account", { exact: true }).locator("option").allInnerTexts(), ["demo", "other1"]);
    await page.getByLabel("Account", { exact: true }).selectOption("demo");
    await page.getByRole("heading", { name: "Choose an Azure table" }).waitFor();

    await navigation(page).getByRole("button", { name: "boats" }).click();
    await press(page, "Delete table");
    await page
      .getByRole("dialog")
      .getByLabel(/Type boats to confirm/)
      .fill("boats");
    await page.getByRole("dialog").getByRole("button", { name: "Delete table" }).click();
    await page.getByRole("heading", { name: "Choose an Azure table" }).waitFor();
    assert.deepEqual(await navigation(page).locator(".table-name").allInnerTexts(), ["Planes"]);
    // An address may name what there cannot be.
    await page.goto(`${server.origin}/#/accounts?account=x`);
    await page.getByRole("heading", { name: "The account x cannot be shown" }).waitFor();
    await press(page, "Close instance");
    await page.getByRole("button", { name: /^accounts/ }).click();
    // They are apart from the tables of the instance.
    await page.getByRole("heading", { name: "Only Azure tables" }).waitFor();
    assert.match(
      await navigation(page)
        .getByRole("heading", { name: /^Tables/ })
        .innerText(),
      /0$/,
    );
    await shoot(page, "azure-only");
    await page.getByRole("main").getByRole("button", { name: "demo" }).click();
    await page.getByRole("heading", { name: "Choose an Azure table" }).waitFor();
  },
  { needs: ["locators"] },
);

test(
  "Z3, W1: entities are read page by page, forward and back, by a filter and with chosen columns; the service's error stands beside a wrong filter",
  async (t) => {
    const { page } = await withSample(t, "queries");
    await press(page, "Next page");
    assert.match(await place(page, /^Page 2, 25 entities/), /sea \/ 001 … sea \/ 025$/);
    await press(page, "Next page");
    assert.match(await place(page, /^Page 3, 25 entities/), /south \/ 001 … south \/ 025$/);
    assert.equal(await page.getByRole("button", { name: "Next page" }).getAttribute("aria-disabled"), "true");
    await press(page, "Previous page");
    await firstKey(page, "sea");
    await place(page, /^Page 2/);
    await page.getByLabel("Entities a page").selectOption("100");
    await place(page, /^Page 1, 75 entities/);

    const filter = page.getByRole("textbox", { name: "Filter" });
    await filter.fill("PartitionKey eq 'sea' and RowKey gt '010' and Active eq true");
    await filter.press("Enter");
    assert.match(await place(page, /^Page 1, 11 entities/), /sea \/ 011/);
    assert.deepEqual(new Set(await keysShown(page)), new Set(["sea"]));

    await page.getByRole("button", { name: /^Columns/ }).click();
    for (const name of await page
      .getByRole("group", { name: "Columns" })
      .getByRole("checkbox")
      .evaluateAll((boxes) => boxes.map((box) => box.labels[0].innerText))) {
      if (name !== "Height") await page.getByRole("checkbox", { name, exact: true }).uncheck();
    }
    await page.waitForFunction(() => document.querySelectorAll(".browser .grid thead th").length === 3);
    assert.deepEqual(await page.locator(".browser .grid thead th").allInnerTexts(), ["PartitionKey\nString", "RowKey\nString", "Height\nInt32"]);
    await press(page, "All");
    await page.waitForFunction(() => document.querySelectorAll(".browser .grid thead th").length > 8);

    await filter.fill("Height gt");
    await filter.press("Enter");
    const alert = page.getByRole("alert");
    await alert.getByText("InvalidInput").waitFor();
    assert.match(await alert.innerText(), /Syntax error at position 9 in 'Height gt'/);
    assert.equal(await filter.getAttribute("aria-invalid"), "true");
    assert.match(await page.evaluate((id) => document.getElementById(id).innerText, await filter.getAttribute("aria-describedby")), /^InvalidInput/);
    // The address has the query, so a reload asks again.
    await page.reload();
    await alert.getByText("InvalidInput").waitFor();
    await press(page, "All entities");
    await place(page, /^Page 1, 25 entities/);
    assert.equal(await alert.count(), 0);

    // Each of the filters to try finds some, but for the last one.
    const examples = page.getByRole("group", { name: "Filters to try" }).getByRole("button");
    const count = await examples.count();
    for (let at = 0; at < count - 1; at++) {
      await examples.nth(at).click();
      await page.waitForFunction((text) => document.querySelector('input[name="filter"]').value === text, await examples.nth(at).innerText());
      await place(page, /^Page 1, \d+ entit/);
    }
    await examples.last().click();
    await alert.getByText("InvalidInput").waitFor();
  },
  { needs: ["locators"] },
);

test(
  "Z2, W1: entities are inserted, merged, replaced and deleted in the panel; an ETag that is old shows what is stored beside what was wanted",
  async (t) => {
    const { page } = await withSample(t, "conflicts");
    const dialog = await openEntity(page, "north / 003");
    const read = Number(await dialog.getByLabel("Value of Height").inputValue());
    const etag = await dialog.locator(".etags code").innerText();
    await dialog.getByLabel("Value of Height").fill("1234");
    await press(page, "Change it elsewhere");
    await dialog.getByText(`Another client has set Height to ${read + 1}.`).waitFor();
    assert.equal(await dialog.locator(".etags code").innerText(), etag, "the panel does not know");
    await press(page, "Save");
    await dialog.getByText("Somebody else has changed this entity").waitFor();
    await dialog.getByText("UpdateConditionNotSatisfied").waitFor();
    const height = dialog.getByRole("row", { name: /^Height/ });
    assert.deepEqual(await height.getByRole("cell").allInnerTexts(), [`${read + 1} Int32`, "1234 Int32"]);
    assert.match(await height.getByRole("rowheader").innerText(), /changed elsewhere/);
    const [old, now] = await dialog.locator(".etags code").allInnerTexts();
    assert.equal(old, etag);
    assert.notEqual(now, etag);
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Reload", "the focus is on what loses nothing that is stored");
    await shoot(page, "70-azure-conflict");

    // What was typed is still there; then what is stored is taken.
    await press(page, "Go on editing");
    assert.equal(await dialog.getByLabel("Value of Height").inputValue(), "1234");
    await page.keyboard.press("Escape");
    await press(page, "Keep typing");
    await press(page, "Save");
    await press(page, "Reload");
    await dialog.getByText("This is what is stored now.").waitFor();
    assert.deepEqual([await dialog.getByLabel("Value of Height").inputValue(), await dialog.locator(".etags code").innerText()], [String(read + 1), now]);
    // With the new ETag it is changed.
    await dialog.getByLabel("Value of Height").fill("77");
    await press(page, "Save");
    await dialog.getByText("Stored. The entity has a new ETag.").waitFor();

    // A replacement that overwrites removes what it leaves out.
    await press(page, "Change it elsewhere");
    await dialog.getByText(/Another client has set Height to 78/).waitFor();
    await dialog.getByLabel("Save by").selectOption("Replace");
    await press(page, "Leave out Name");
    await dialog.getByLabel("Type of Temperature").selectOption("String");
    await press(page, "Save");
    await dialog.getByText("Somebody else has changed this entity").waitFor();
    assert.deepEqual(await dialog.getByRole("row", { name: /^Name/ }).getByRole("cell").allInnerTexts(), ["Station north 3 String", "none"]);
    await press(page, "Overwrite with *");
    await dialog.getByText("Stored. The entity has a new ETag.").waitFor();
    assert.equal(await dialog.getByLabel("Value of Name").count(), 0);
    assert.deepEqual([await dialog.getByLabel("Value of Height").inputValue(), await dialog.getByLabel("Type of Temperature").inputValue()], ["77", "String"]);
    // The service says what is wrong with a value.
    await dialog.getByLabel("Value of Height").fill("tall");
    await press(page, "Save");
    await dialog.getByRole("alert").getByText("InvalidInput").waitFor();
    // A deletion has an ETag too.
    await press(page, "Change it elsewhere");
    await dialog.getByText(/Another client has set Height to 78/).waitFor();
    await press(page, "Delete");
    await press(page, "Delete it");
    await dialog.getByText("After your delete").waitFor();
    await press(page, "Delete with *");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Open north / 003", exact: true }).waitFor({ state: "detached" });

    await press(page, "Insert entity");
    const insert = panel(page, /^Insert /);
    await insert.getByLabel(/^PartitionKey/).fill("a first");
    await insert.getByLabel(/^RowKey/).fill("北京 🦀");
    await insert.getByLabel("Property", { exact: true }).fill("Height");
    await insert.getByLabel("Type of Height").selectOption("Double");
    await insert.getByLabel("Value of Height").fill("3");
    await insert.getByRole("button", { name: "Insert entity" }).click();
    await dialog.getByLabel("Value of Height").waitFor();
    assert.deepEqual(
      [await dialog.getByLabel("Type of Height").inputValue(), await dialog.getByLabel("Value of Height").inputValue()],
      ["Double", "3.0"],
      "a Double without a fraction stays one",
    );
    await page.keyboard.press("Escape");
    await firstKey(page, "a first");
    await press(page, "Insert entity");
    await insert.getByLabel(/^PartitionKey/).fill("a first");
    await insert.getByLabel(/^RowKey/).fill("北京 🦀");
    await insert.getByRole("button", { name: "Insert entity" }).click();
    await insert.getByRole("alert").getByText("EntityAlreadyExists").waitFor();
  },
  { needs: ["locators"] },
);

test(
  "Z2, W1: tabs that share an instance show the same entities, and a conflict between two of them",
  async (t) => {
    const { server, context, page: leader } = await withSample(t, "shared-azure");
    const follower = await openConsole(t, context, server, "#/shared-azure?account=demo&entities=stations");
    await follower.locator(".tag.part").getByText("follows").waitFor();
    await place(follower, /^Page 1, 25 entities/);
    await leader.bringToFront();
    const here = await openEntity(leader, "north / 001");
    await follower.bringToFront();
    const there = await openEntity(follower, "north / 001");
    await there.getByLabel("Value of Name").fill("Renamed");
    await press(follower, "Save");
    await there.getByText("Stored. The entity has a new ETag.").waitFor();
    await leader.bringToFront();
    await here.getByLabel("Value of Name").fill("Mine");
    await press(leader, "Save");
    await here.getByText("Somebody else has changed this entity").waitFor();
    assert.deepEqual(await here.getByRole("row", { name: /^Name/ }).getByRole("cell").allInnerTexts(), ["Renamed String", "Mine String"]);
    await press(leader, "Reload");
    await here.getByText("This is what is stored now.").waitFor();
    await leader.keyboard.press("Escape");
    await look(leader);
    await leader.getByText("Renamed", { exact: true }).waitFor();
    // The one that followed goes on alone, with what it has open.
    await leader.close();
    await there.getByLabel("Value of Name").fill("Alone");
    await press(follower, "Save");
    await there.getByText("Stored. The entity has a new ETag.").waitFor();
    await follower.keyboard.press("Escape");
    await follower.getByText("Alone", { exact: true }).waitFor();
  },
  { full: true, needs: ["locators"] },
);

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1: axe finds nothing on the pages and panels of Azure tables (${size}, light and dark)`,
    async (t) => {
      const { page } = await withSample(t, "axe-azure", viewport);
      const findings = [];
      const check = async (name) => {
        findings.push(...(await faults(page, name)));
        await page.emulateMedia({ colorScheme: "light" });
        await fitsWidth(page, name);
      };
      await page.getByRole("button", { name: /^Columns/ }).click();
      await page.getByRole("checkbox", { name: "Note" }).uncheck();
      await check("entities and the choice of columns");
      await page.getByRole("group", { name: "Filters to try" }).getByRole("button").last().click();
      await page.getByRole("alert").waitFor();
      await check("a wrong filter");
      await press(page, "All entities");
      const dialog = await openEntity(page, "north / 002");
      await dialog.getByRole("button", { name: "Property", exact: true }).click();
      await press(page, "Change it elsewhere");
      const told = dialog.getByText(/Another client has set/);
      await told.waitFor();
      const { y, height } = await told.boundingBox();
      assert.ok(y >= 0 && y + height < viewport.height - 40, "what was done is seen without scrolling");
      await check("an entity");
      await press(page, "Save");
      await dialog.getByText("Somebody else has changed this entity").waitFor();
      await check("a conflict");
      assert.ok(
        await page.evaluate(() => [...document.querySelectorAll("dialog[open] .grid-scroll")].every((box) => box.scrollWidth <= box.clientWidth)),
        "nothing has to be scrolled sideways",
      );
      // Escape would go back to what was typed. What is stored is taken, and nothing is left to lose.
      await press(page, "Reload");
      await dialog.getByText("This is what is stored now.").waitFor();
      await page.keyboard.press("Escape");
      await press(page, "Insert entity");
      await check("a new entity");
      await page.keyboard.press("Escape");
      await page.getByLabel("Account", { exact: true }).focus();
      await press(page, "Another account");
      await check("another account");
      await page.getByRole("dialog").getByLabel("Account name").fill("empty");
      await page.getByRole("dialog").getByRole("button", { name: "Show account" }).click();
      await page.getByRole("heading", { name: "An empty account" }).waitFor();
      await check("an empty account");
      assert.deepEqual(findings, []);
    },
    { full: true, seconds: 120, needs: ["locators"] },
  );
}
