// The console in several tabs: each shows its part, all of them work, and what one changes is seen in the others.

import assert from "node:assert/strict";

import { load, startBrowser } from "../support/browser.mjs";
import { fact, firstKey, importSet, keysShown, look, openConsole, openInstance, shoot, show, VIEWPORT, showForm } from "../support/console.mjs";
import { engine } from "../support/engine.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

/** Waits until the console says which part its tab has. */
const part = (page, wanted) => page.locator(".instance-chip .tag.part").getByText(wanted, { exact: true }).waitFor();

/** Waits until the panel has a figure from `least` to `most` under a label. */
const figure = (page, label, least, most = least) =>
  page.waitForFunction(
    ({ label, least, most }) =>
      [...document.querySelectorAll(".engine .fact")].some((one) => {
        const value = Number(one.querySelector("data")?.value);
        return one.firstElementChild.innerText === label && value >= least && value <= most;
      }),
    { label, least, most },
    // Frames come once a second to a tab behind another one.
    { polling: 50 },
  );

/** Consoles with the same instance; the first one leads. */
async function consoles(t, name, count, prepare = () => {}, own = false) {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport: VIEWPORT, own });
  const pages = [await openConsole(t, context, server)];
  await prepare(context, server, pages[0]);
  await openInstance(pages[0], name);
  while (pages.length < count) {
    const page = await openConsole(t, context, server, `#/${name}`);
    await part(page, "follows");
    pages.push(page);
  }
  await part(pages[0], "leads");
  return { server, context, pages };
}

const table = (page, name) => page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: new RegExp(`^${name}`) });

test(
  "W1: in three tabs the console works alike, and shows what another tab has changed when a person comes back to it",
  async (t) => {
    const {
      pages: [one, two, three],
    } = await consoles(t, "shared", 3);
    for (const page of [one, two, three]) await figure(page, "Open handles", 3);

    // A follower imports, browses, puts and deletes. A tab behind another one is drawn once a second only.
    await two.bringToFront();
    await importSet(two, "stocks.csv");
    await two
      .getByRole("region", { name: "Partitions", exact: true })
      .getByRole("button", { name: /^\d+ partitions?$/ })
      .waitFor();
    await two.getByRole("button", { name: "Put row" }).click();
    await two
      .getByRole("dialog")
      .getByLabel(/^symbol/)
      .fill("AAA");
    await two.getByRole("dialog").getByLabel(/^date/).fill("today");
    await two.getByRole("dialog").getByRole("button", { name: "Put row" }).click();
    await two.getByRole("dialog", { name: /^Row / }).getByText("This row has no attribute columns.").waitFor();
    await two.keyboard.press("Escape");
    await two.getByRole("button", { name: "Calls", exact: true }).click();
    for (const operation of ["Flush", "Compact"]) {
      await two.locator('.engine-head button[aria-disabled="false"]').getByText(operation, { exact: true }).click();
      await two.getByRole("region", { name: "All calls" }).getByRole("rowheader", { name: operation }).waitFor();
    }
    await two.getByRole("button", { name: "Calls", exact: true }).click();
    assert.equal((await keysShown(two))[0], "AAA");
    await shoot(two, "60-tabs-follower");

    // The others do not know of it before somebody looks.
    assert.equal(await table(one, "stocks").count(), 0);
    await look(one);
    await table(one, "stocks").click();
    await firstKey(one, "AAA");
    await one.getByRole("button", { name: "Next page" }).click();
    await one.waitForFunction(() => document.querySelector(".browser table.grid button.open-row")?.innerText !== "AAA");
    const [there] = await keysShown(one);

    // The third one deletes it, and makes a table.
    await look(three);
    await table(three, "stocks").click();
    await firstKey(three, "AAA");
    await three.locator(".open-row").first().click();
    await three.getByRole("dialog").getByRole("button", { name: "Delete row" }).click();
    await three.getByRole("dialog").getByRole("button", { name: "Delete all versions of it" }).click();
    await firstKey(three, "AAPL");
    await three.getByRole("button", { name: "Shell" }).click();
    await three.getByRole("combobox", { name: "Line" }).fill('create -t made_there -k \'[{"c":"id","t":"string"}]\'');
    await three.getByRole("combobox", { name: "Line" }).press("Enter");
    await table(three, "made_there").waitFor();

    // A person who comes back is on the page that was left.
    await look(one);
    await table(one, "made_there").waitFor();
    assert.equal((await keysShown(one))[0], there);
    await one.getByRole("button", { name: "First page" }).click();
    await firstKey(one, "AAPL");
    await show(two);
    await firstKey(two, "AAPL");

    // What a tab shows may be gone.
    await one.bringToFront();
    await one.getByRole("button", { name: "Delete table" }).click();
    await one
      .getByRole("dialog")
      .getByLabel(/Type stocks to confirm/)
      .fill("stocks");
    await one.getByRole("dialog").getByRole("button", { name: "Delete table" }).click();
    await table(one, "stocks").waitFor({ state: "detached" });
    await look(two);
    await two.getByRole("heading", { name: "There is no table called stocks" }).waitFor();
    await two.getByText(/^It was deleted/).waitFor();
  },
  { seconds: 90, needs: ["locators"] },
);

test(
  "W1: when the leading tab closes, another one says that it leads now, and all go on",
  async (t) => {
    const {
      pages: [one, ...others],
    } = await consoles(t, "moving", 3);
    await importSet(one, "stocks.csv");
    await one.close();
    const leader = await Promise.race(
      others.map(async (page) => {
        await part(page, "leads now");
        return page;
      }),
    );
    const [follower] = others.filter((page) => page !== leader);
    await part(follower, "follows");
    await leader.getByRole("status").getByText("This tab leads now", { exact: true }).waitFor({ state: "attached" });
    await shoot(leader, "61-tabs-leads-now");
    for (const page of [leader, follower]) {
      // The tables are there without a look: the consoles have read again.
      await table(page, "stocks").click();
      await firstKey(page, "AAPL");
      await figure(page, "Open handles", 2);
    }
    await leader.getByRole("button", { name: "Close instance" }).click();
    await part(follower, "leads now");
    await figure(follower, "Open handles", 1);
    assert.equal(await leader.locator(".tag.part").count(), 0, "without an instance there is no part");
  },
  { needs: ["locators"] },
);

test(
  "W1: a leading tab that does not answer is replaced, and both tabs show it",
  async (t) => {
    const {
      pages: [leader, follower],
    } = await consoles(t, "frozen", 2);
    const [worker] = leader.workers();
    await worker.evaluate(
      () =>
        void setTimeout(() => {
          for (;;);
        }),
    );
    await follower.getByText("This tab leads now").waitFor();
    await part(leader, "follows");
  },
  { full: true, needs: ["locators", "workers"] },
);

test(
  "W1, V10: tabs share an injected clock: one moves it, the others show it, and a reload finds it",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const one = await openConsole(t, context, server, "#/time?clock=1000000");
    await one.getByRole("button", { name: "Create it" }).click();
    await part(one, "leads");
    const two = await openConsole(t, context, server, "#/time?clock=1000000");
    for (const page of [one, two]) await page.getByRole("button", { name: "+1 h" }).waitFor();
    await two.getByRole("button", { name: "+1 h" }).click();
    for (const page of [one, two]) await page.waitForURL(/clock=4600000/);
    // The leader still knows the time at which it was opened.
    const follower = (await one.locator(".tag.part").innerText()) === "follows" ? one : two;
    await follower.reload();
    await part(follower, "follows");
    await follower.locator(".engine").getByText("1970-01-01 01:16:40").waitFor();
    await follower.getByRole("button", { name: "+1 h" }).click();
    for (const page of [one, two]) await page.waitForURL(/clock=8200000/);
    // The device's clock is another matter.
    const plain = await openConsole(t, context, server);
    await openInstance(plain, "plain");
    await part(plain, "leads");
    const other = await openConsole(t, context, server, "#/plain?clock=5");
    await other.getByText("“plain” could not be opened").waitFor();
    await other.getByText(/clock\.now/).waitFor();
  },
  { needs: ["locators"] },
);

test(
  "W1: the console follows an application that has the instance open with options of its own",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const app = await context.newPage();
    await load(app, server, "/package/");
    await app.evaluate(async () => {
      globalThis.db = await T.open("app", { cacheBytes: 2_000_000 });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await db.putRow({ tableName: "t", primaryKey: { id: 7 } });
    });
    const page = await openConsole(t, context, server, "#/app/t");
    await part(page, "follows");
    await firstKey(page, "7");
    await page.locator(".engine").getByText("of 8.0 MB").waitFor();
    // A kind is a property of the instance: a wrong one is refused.
    const other = await openConsole(t, context, server);
    await showForm(other);
    await other.getByRole("textbox", { name: "Name" }).fill("app");
    await other.getByLabel("Kind").selectOption("capacity");
    await other.getByRole("button", { name: "Open", exact: true }).click();
    await other.getByText("“app” could not be opened").waitFor();
  },
  { needs: ["locators"] },
);

test(
  "W1: the storage panel has the figures of the package, and asks the browser to keep the data",
  async (t) => {
    const {
      server,
      context,
      pages: [one, two],
    } = await consoles(t, "space", 2, undefined, true);
    await importSet(one, "flights-by-booking.csv");
    await one.getByRole("button", { name: "Compact", exact: true }).click();
    const other = await context.newPage();
    await load(other, server, "/package/");
    await other.evaluate(async () => {
      globalThis.db = await T.open("space");
    });
    const labels = { live: "Live data", garbage: "Garbage", reserve: "Reserve for deletions", used: "Used by this origin" };
    // Figures that rest: the reserve is being filled, and the browser counts what it has written later.
    let shown;
    let stored;
    for (let tries = 0; tries < 40; tries++) {
      stored = await other.evaluate(() => db.storage());
      const panel = async (page) => Object.fromEntries(await Promise.all(Object.entries(labels).map(async ([name, label]) => [name, await fact(page, label)])));
      shown = await Promise.all([one, two].map(panel));
      if (Object.keys(labels).every((name) => shown.every((of) => of[name] === stored[name]))) break;
      await two.waitForTimeout(500);
    }
    const figures = Object.fromEntries(Object.keys(labels).map((name) => [name, stored[name]]));
    assert.deepEqual(shown, [figures, figures]);
    assert.ok(figures.live > 1_000_000, `${figures.live} bytes`);
    assert.equal(figures.reserve, 2 * 1024 * 1024);

    // Headless browsers decline, unless they have promised it.
    const granted = await other.evaluate(() => db.persist());
    await two.getByRole("button", { name: "Ask the browser to keep it" }).click();
    await two
      .getByRole("status")
      .getByText(granted ? "The browser keeps the data of this origin." : /^The browser has declined/)
      .waitFor();
    await two.locator(".calls-last").getByText("Persist").waitFor();
    await shoot(two, "62-tabs-storage");
  },
  { full: true, seconds: 90, needs: ["locators"] },
);

test(
  "W1: where the browser tells nothing of its storage, the panel says so",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    await context.addInitScript(() => Object.defineProperty(Navigator.prototype, "storage", { value: undefined }));
    const page = await openConsole(t, context, server);
    await openInstance(page, "silent");
    const told = (label) => page.locator(".engine .fact", { has: page.getByText(label, { exact: true }) }).locator(".fact-value");
    for (const label of ["Used by this origin", "Kept when space runs out"]) await told(label).getByText("the browser does not say").waitFor();
    assert.equal(await page.getByRole("button", { name: "Ask the browser to keep it" }).count(), 0);
    assert.equal(typeof (await fact(page, "Live data")), "number");
  },
  { full: true, needs: ["locators"] },
);

test(
  "W1: an instance that the browser has lost is begun anew only when a person says so",
  async (t) => {
    const {
      server,
      context,
      pages: [page],
    } = await consoles(t, "lost", 1);
    await importSet(page, "stocks.csv");
    await page.getByRole("button", { name: "Close instance" }).click();
    await page.getByRole("button", { name: /^lost/ }).waitFor();
    const other = await context.newPage();
    await load(other, server, "/package/");
    await other.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const request = indexedDB.deleteDatabase("tabstore/lost");
          request.onsuccess = resolve;
          request.onerror = reject;
        }),
    );
    await page.bringToFront();
    await page.getByRole("button", { name: /^lost/ }).click();
    await page.getByRole("alert").getByText("The browser has lost the data of “lost”").waitFor();
    await shoot(page, "63-lost");
    await page.getByRole("button", { name: "Begin anew" }).click();
    const dialog = page.getByRole("dialog", { name: "Begin lost anew?" });
    await dialog.waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Cancel", "a mere Enter changes nothing");
    await shoot(page, "64-lost-confirm");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    // A reload does not begin anew either.
    await page.reload();
    await page.getByRole("button", { name: "Begin anew" }).click();
    await dialog.getByRole("button", { name: "Begin anew" }).click();
    await page
      .getByRole("heading", { name: "There is no table called stocks" })
      .or(page.getByRole("heading", { name: "An empty instance" }))
      .waitFor();
    await page.reload();
    await part(page, "leads");
    assert.equal(await page.getByRole("alert").count(), 0);
  },
  { full: true, needs: ["locators"] },
);

test(
  "W1: a full origin is told in every tab, with what helps, until there is room again",
  async (t) => {
    let limit;
    const { server, context, pages } = await consoles(t, "full", 2, async (context, server, page) => {
      limit = await engine.limit(context, page, server, 14_000_000);
    });
    const [leader, follower] = pages;
    const other = await context.newPage();
    await load(other, server, "/package/");
    await follower.bringToFront();
    await importSet(follower, "stocks.csv");
    await figure(follower, "Reserve for deletions", 2 * 1024 * 1024);
    await follower.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
    await follower.getByRole("button", { name: /flights-by-booking\.csv/ }).click();
    await follower
      .getByRole("dialog")
      .getByRole("button", { name: /^Create table and import/ })
      .click();
    // Less room than the origin uses: whatever the engine frees meanwhile, the reserve does not fit, so the tabs go on telling.
    await figure(leader, "Writes", 5001, 1e9);
    await limit(1_000_000);
    assert.equal(await other.evaluate(() => H.look(16_000_000)), "QuotaExceededError", "IndexedDB looks at the room anew");
    for (const page of pages) await page.getByRole("alert").getByText("The storage of this origin is full").waitFor();
    await follower
      .getByRole("region", { name: "Import" })
      .getByText(/Delete rows or tables, or free space on this device/)
      .waitFor();
    await shoot(follower, "65-tabs-full");
    // The device has more room.
    await limit();
    for (const page of pages) await page.getByText("The storage of this origin is full").waitFor({ state: "detached" });
    for (const page of pages) await figure(page, "Reserve for deletions", 2 * 1024 * 1024);
  },
  { seconds: 120, needs: ["locators", "resizing"] },
);

test(
  "W1: the console follows the options of an application, whoever opens the instance first, and keeps its own for instances made here",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const app = await context.newPage();
    await load(app, server, "/package/");
    const opens = (page, name, options) =>
      page.evaluate(
        async ([name, options]) => {
          globalThis.db = await T.open(name, options);
          return [db.role, (await db.metrics()).memtable.budget];
        },
        [name, options],
      );
    // The application made it, and is closed.
    await opens(app, "myapp", { memtableBytes: 4 << 20 });
    await app.evaluate(() => db.close());
    const page = await openConsole(t, context, server, "#/myapp");
    await part(page, "leads");
    // The console's own options would be refused, and would be those of the application that gives none.
    assert.deepEqual(await opens(app, "myapp", { memtableBytes: 8 << 20 }), ["follower", 8 << 20]);
    await app.evaluate(() => db.close());
    assert.deepEqual(await opens(app, "myapp", { memtableBytes: 2 << 20 }), ["leader", 2 << 20]);
    await part(page, "follows");
    await app.evaluate(() => db.close());

    // One that is made here has small parts, also when it is opened again; an application still gets its own.
    await page.goto(`${server.origin}/`);
    await openInstance(page, "made-here");
    await page.reload();
    await part(page, "leads");
    const seen = await context.newPage();
    await load(seen, server, "/package/");
    assert.deepEqual(await opens(seen, "made-here", { guest: true }), ["follower", 1 << 20]);
    await seen.close();
    assert.deepEqual(await opens(app, "made-here", {}), ["leader", 8 << 20]);
    await part(page, "follows");
  },
  { seconds: 90, needs: ["locators"] },
);
