// The console's examples of streams: each page follows what another tab writes, and goes on where it stopped after a reload.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { openConsole, shoot, SIZES } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const button = (page, name) => page.getByRole("button", { name, exact: true });

/** Presses a button of a tab that a person looks at. */
async function press(page, name) {
  await page.bringToFront();
  await button(page, name).click();
}

/** Presses a button that writes, and waits until that is stored. */
async function write(page, name) {
  await press(page, name);
  await button(page, name).and(page.locator('[aria-disabled="false"]')).waitFor();
}

async function pages(t, example, count = 2) {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport: SIZES.desktop });
  const open = () => openConsole(t, context, server, `#/examples/${example}`);
  const opened = [];
  while (opened.length < count) {
    opened.push(await open());
    await opened
      .at(-1)
      .getByRole("button", { name: /^(?:Keep writing|Put the movie)$/ })
      .waitFor();
  }
  return { opened, open };
}

/** Waits until the copy on a page equals the table, and both the rows that are `wanted`. Gives the rows. */
async function equal(page, wanted) {
  const shown = await page.waitForFunction((wanted) => {
    const [table, copy] = [...document.querySelectorAll(".pair-part")].map((part) =>
      [...part.querySelectorAll("tbody tr")].map((row) => row.innerText.replaceAll(/\s+/g, " ").trim()).join("\n"),
    );
    const isEqual = document.querySelector(".example-state .tag.good")?.innerText === "The copy is equal";
    return isEqual && table === copy && (wanted === undefined || copy === wanted) ? { copy } : undefined;
  }, wanted);
  return (await shown.jsonValue()).copy;
}

test(
  "ST4: a copy in IndexedDB follows what another tab writes, waits while it is stopped, and goes on after a reload",
  async (t) => {
    const {
      opened: [one, two],
    } = await pages(t, "copy");
    await equal(one, "");
    await two.getByText("Another tab copies.").waitFor();
    for (let times = 0; times < 4; times++) await write(two, "Put 5 rows");
    await one.locator(".pair-part").nth(1).locator("tbody tr").nth(4).waitFor();
    // The other tab shows the same copy.
    await equal(two, await equal(one));

    // While nobody copies the changes wait.
    await press(two, "Stop copying");
    await press(one, "Stop copying");
    await one.getByText("Stopped: changes wait in the stream.").waitFor();
    for (let times = 0; times < 3; times++) await write(two, "Delete a row");
    await write(two, "Put 5 rows");
    await write(two, "Update a row");
    await one.getByText(/^\d+ rows? differs?$/).waitFor();
    await press(one, "Go on copying");
    await equal(two, await equal(one));

    // A reload in the middle of writes.
    await press(one, "Stop copying");
    await press(two, "Keep writing");
    await one.getByText(/^\d+ rows? differs?$/).waitFor();
    await press(one, "Go on copying");
    await one.waitForTimeout(600);
    await one.reload();
    await one.waitForTimeout(600);
    await press(two, "Keep writing");
    await equal(one);
    // After another one it copies the row that has changed, not the whole table.
    for (let times = 0; times < 2; times++) await write(two, "Put 5 rows");
    const rows = (await equal(one)).split("\n");
    await one.reload();
    await equal(one, rows.join("\n"));
    await write(two, "Update a row");
    await one.getByText(/^This tab copied 1 /).waitFor();
    await equal(one);
    assert.ok(rows.length > 2, `${rows.length} rows`);

    // The tab that copies ends, and another one goes on.
    await press(two, "Go on copying");
    await two.getByText("Another tab copies.").waitFor();
    await one.close();
    await two.getByText("Copying.").waitFor();
    await write(two, "Put 5 rows");
    await equal(two);
    assert.equal(await two.locator(".error-note").count(), 0);
  },
  { seconds: 90, needs: ["locators"] },
);

/** The chart's figures: city, orders and sum. */
const figures = (page) => page.locator(".chart tbody tr").evaluateAll((all) => all.map((row) => [...row.children].slice(0, 3).map((cell) => cell.innerText)));

test(
  "ST4: totals follow what another tab writes, equal a fresh count, and go on after a reload",
  async (t) => {
    const {
      opened: [one, two],
    } = await pages(t, "aggregate");
    await one.getByText("No orders yet.", { exact: false }).waitFor();
    await write(two, "Put 100 orders");
    const orders = (page, count) => page.getByText(`${count} orders`, { exact: true }).waitFor();
    await orders(one, 100);
    for (const name of ["Move an order", "Move an order", "Delete an order"]) await write(two, name);
    await orders(one, 99);
    const check = async (page) => {
      await press(page, "Compare with a fresh count");
      await page.getByText(/^The same, of \d+ rows/).waitFor();
    };
    await check(one);
    assert.equal(
      (await figures(one)).reduce((sum, [, count]) => sum + Number(count), 0),
      99,
    );

    // It goes on from what is stored, though nobody has counted meanwhile: both pages are reloaded while orders come.
    await press(two, "Keep writing");
    await one.waitForTimeout(500);
    await one.reload();
    await one.getByText("It went on from the stored totals", { exact: false }).waitFor();
    await two.reload();
    await check(two);
    await one.waitForFunction(
      (wanted) =>
        [...document.querySelectorAll(".chart tbody tr")]
          .map((row) =>
            [...row.children]
              .slice(0, 3)
              .map((cell) => cell.innerText)
              .join(),
          )
          .join(";") === wanted,
      (await figures(two)).map((row) => row.join()).join(";"),
    );
    await check(one);
  },
  { seconds: 60, needs: ["locators"] },
);

const box = (page) => page.getByRole("searchbox", { name: "Search the movies" });
const titles = (page) => page.locator(".hit b").allInnerTexts();

test(
  "ST4: a search finds what there is and what another tab writes, deletes included, and goes on after a reload",
  async (t) => {
    const {
      opened: [one, two],
    } = await pages(t, "search");
    await one.getByText("There are no movies to search.", { exact: false }).waitFor();
    await press(one, "Load 3,201 movies");
    for (const page of [one, two]) await page.getByText("3,201 rows in the index.").waitFor();
    await box(one).fill("king kon");
    await one.getByText(/^\d+ of 3,201 rows found/).waitFor();
    assert.ok(
      (await titles(one)).every((title) => /king kong/i.test(title)),
      String(await titles(one)),
    );
    assert.deepEqual(await one.locator(".hit").first().locator("mark").allInnerTexts(), ["King", "Kong"]);
    const before = (await titles(one)).length;

    // What another tab writes is found as it comes.
    await two.getByRole("textbox", { name: "Title" }).fill("King Kong and Zyxqua");
    await two.getByRole("textbox", { name: "Director" }).fill("Ann Example");
    await two.keyboard.press("Enter");
    await one.locator(".hit").getByText("King Kong and Zyxqua").waitFor();
    assert.equal((await titles(one)).length, before + 1);
    await box(one).fill("anne exampel");
    await one.locator(".hit").getByText("King Kong and Zyxqua").waitFor();

    // A reload goes on from the stored index, with what was written since.
    await one.getByText("It is stored for the next time.").waitFor();
    await one.goto("about:blank");
    await box(two).fill("zyxqua");
    await press(two, "Delete King Kong and Zyxqua");
    await two.getByText("Nothing is like “zyxqua”.").waitFor();
    await two.getByRole("textbox", { name: "Title" }).fill("Late and found");
    await two.keyboard.press("Enter");
    await box(two).fill("late found");
    await two.locator(".hit").getByText("Late and found").waitFor();
    await one.goBack();
    await one.getByText("The index went on from the stored one", { exact: false }).waitFor();
    await box(one).fill("late found");
    await one.locator(".hit").getByText("Late and found").waitFor();
    await box(one).fill("zyxqua");
    await one.getByText("Nothing is like “zyxqua”.").waitFor();
    await press(two, "Delete all movies");
    for (const page of [one, two]) await page.getByText("There are no movies to search.", { exact: false }).waitFor();
  },
  { seconds: 90, needs: ["locators"] },
);

/** Prepares each example for a picture. */
const SCENES = {
  copy: async (page) => {
    for (let times = 0; times < 4; times++) await write(page, "Put 5 rows");
    await equal(page);
    await press(page, "Stop copying");
    await write(page, "Put 5 rows");
    await page.getByText(/^\d+ rows? differs?$/).waitFor();
  },
  aggregate: async (page) => {
    await write(page, "Put 100 orders");
    await page.getByText("100 orders", { exact: true }).waitFor();
  },
  search: async (page) => {
    await press(page, "Load 3,201 movies");
    await page.getByText("3,201 rows in the index.").waitFor();
    await box(page).fill("lord of the rngs");
    await page.locator(".hit").first().waitFor();
  },
};

test(
  "ST4: the examples of streams have no faults that a machine can see, light and dark, wide and narrow",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.desktop });
    for (const [example, prepare] of Object.entries(SCENES)) {
      const page = await openConsole(t, context, server, `#/examples/${example}`);
      await page.getByRole("button", { name: /^(?:Keep writing|Put the movie)$/ }).waitFor();
      const look = async (scene) => {
        for (const [size, viewport] of turns(Object.entries(SIZES))) {
          await page.setViewportSize(viewport);
          const found = await faults(page, `${example}, ${scene}, ${size}`, async (theme) => {
            await shoot(page, `75-${example}-${scene}-${size}-${theme}`);
            await fitsWidth(page, `${example}, ${size}`);
          });
          assert.deepEqual(found, []);
        }
        await page.setViewportSize(SIZES.desktop);
      };
      await look("empty");
      await prepare(page);
      await look("full");
      // The code is there to read.
      await page.getByText("The code:").click();
      await page
        .getByText(/export (?:async )?(?:function|class)/)
        .first()
        .waitFor();
      await page.close();
    }
  },
  { full: true, seconds: 120, needs: ["locators"] },
);
