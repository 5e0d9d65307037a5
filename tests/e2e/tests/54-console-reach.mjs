// The console for everybody. axe finds nothing on any page and in any dialog, a phone shows all of a row, and the
// keyboard is always where a person expects it.

import assert from "node:assert/strict";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { firstKey, importSet, keysShown, openConsole, openInstance, shoot, SIZES, showForm } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1: axe finds nothing on any page and in any dialog of the console (${size}, light and dark)`,
    async (t) => {
      const server = await serveConsole(t);
      const context = await startBrowser(t, { viewport });
      const page = await openConsole(t, context, server);
      const findings = [];
      let looked = 0;
      const look = async (name, where = page) => {
        findings.push(
          ...(await faults(where, name, () => {
            looked += 1;
          })),
        );
        await where.emulateMedia({ colorScheme: "light" });
        await fitsWidth(where, name);
      };
      const button = (name) => page.getByRole("button", { name }).first();
      const dialog = page.getByRole("dialog");
      /** Looks at a dialog, and leaves it. */
      const lookInto = async (name, open) => {
        await open();
        await dialog.waitFor();
        await look(name);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
      };

      await showForm(page);
      await page.getByText("None yet.").waitFor();
      await look("welcome");
      await page.getByLabel("Use a clock of my own").check();
      await page.getByRole("textbox", { name: "Name" }).fill("x");
      await page.getByRole("button", { name: "Open", exact: true }).click();
      await look("welcome with a wrong name");
      await page.getByLabel("Use a clock of my own").uncheck();
      await openInstance(page, "axe");
      await look("an empty instance");
      await lookInto("the choice of data", () => page.getByRole("main").getByRole("button", { name: "Import data" }).click());
      await page.getByRole("main").getByRole("button", { name: "Import data" }).click();
      await button(/movies\.json/).click();
      await page.getByLabel("Table", { exact: true }).fill("1 wrong name");
      await look("a plan with an error");
      await page.keyboard.press("Escape");
      await dialog.getByRole("button", { name: "Discard", exact: true }).click();
      await importSet(page, "movies.json");
      await look("an imported table");
      await importSet(page, "flights-by-booking.csv");
      const partitions = page.getByRole("region", { name: "Partitions", exact: true });
      await partitions.getByRole("button", { name: /^\d\d partitions$/ }).click();
      await button(/^Calls/).click();
      await look("partitions, calls and the engine at work");
      await button(/^Calls/).click();
      await lookInto("the options", () => button("Modify table").click());
      await button("Modify table").click();
      await page.getByLabel("Max versions").fill("3");
      await page.getByRole("checkbox", { name: /UpdateRow works/ }).uncheck();
      await page.getByLabel(/Max version offset/).fill("no number");
      await look("options with an error");
      await page.getByLabel(/Max version offset/).fill("86400");
      await button("Save changes").click();
      await dialog.waitFor({ state: "detached" });
      await lookInto("a row that cannot be updated", async () => {
        await page.locator(".open-row").first().click();
        await page.locator(".versions").waitFor();
      });
      await lookInto("the export of a table", () => button("Export rows").click());
      await lookInto("the deletion of a table", () => button("Delete table").click());
      await lookInto("a new row", () => button("Put row").click());
      await lookInto("a new table", () => page.getByRole("navigation").getByRole("button", { name: "Create table" }).click());
      await page
        .getByRole("navigation")
        .getByRole("button", { name: /^movies/ })
        .click();
      await page.getByRole("heading", { name: "movies", level: 1 }).waitFor();
      await firstKey(page, "1");
      await lookInto("a row", async () => {
        await page.locator(".open-row").first().click();
        await page.locator(".versions").waitFor();
        await dialog.getByRole("button", { name: "Delete row" }).click();
      });
      await page.locator(".open-row").first().click();
      await page.locator(".versions").waitFor();
      await dialog.getByRole("button", { name: "Replace row" }).click();
      await look("a row that is replaced");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog", { name: /^Row / }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByLabel("Start of the range, row").fill("no number");
      await page.getByRole("button", { name: "Apply range" }).click();
      await page.getByRole("alert").waitFor();
      await look("a range with an error");

      // A tab that follows.
      const follower = await openConsole(t, context, server, "#/axe/movies");
      await follower.locator(".tag.part").getByText("follows").waitFor();
      await follower.getByRole("button", { name: "Ask the browser to keep it" }).click();
      await follower.getByText("The browser has declined.").waitFor();
      await look("a tab that follows", follower);
      await follower.close();

      // A tab of another version, which does not share it.
      await page.evaluate(() => {
        const channel = new BroadcastChannel("tabstore/kept");
        channel.onmessage = () => channel.postMessage({ tabstore: 99, kind: "lead", leader: 1 });
        void navigator.locks.request("tabstore/kept", () => new Promise(() => {}));
      });
      const second = await openConsole(t, context, server, "#/kept");
      await second.getByText("Another tab has “kept” open").waitFor();
      await look("an instance that another tab has", second);
      await second.close();
      await page.getByRole("button", { name: "Close instance" }).click();
      await button(/^axe/).waitFor();
      await look("the list of instances");
      await lookInto("the deletion of an instance", () => button("Delete axe").click());
      await page.evaluate(
        () =>
          new Promise((resolve) => {
            indexedDB.deleteDatabase("tabstore/axe").onsuccess = resolve;
          }),
      );
      await button(/^axe/).click();
      await page.getByText("The browser has lost the data of “axe”").waitFor();
      await look("an instance that the browser has lost");
      await lookInto("its beginning anew", () => button("Begin anew").click());
      await button("All instances").click();
      await page.goto(`${server.origin}/#/clocked?clock=1469030400000`);
      await page.getByRole("button", { name: "Create it" }).click();
      await page.getByRole("heading", { name: "An empty instance" }).waitFor();
      await look("an instance with a clock of its own");
      await page.getByRole("button", { name: "Close instance" }).click();
      await page.getByText("A wide-column database").waitFor();
      await showForm(page);
      await page.getByLabel("Storage").selectOption("memory");
      await openInstance(page, "in-memory");
      await look("an instance in memory");
      assert.deepEqual(findings, []);
      t.note(`${looked} runs of axe`);
    },
    { seconds: 240, needs: ["locators"] },
  );
}

test(
  "V3, W1: on a phone all of a row is seen: each version stands whole below its value, and a new one can be typed beside its label",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: SIZES.phone });
    const page = await openConsole(t, context, server);
    await openInstance(page, "phone");
    await page.getByRole("button", { name: "Create table" }).click();
    await page.getByLabel("Table name").fill("notes");
    await page.getByLabel("Max versions").fill("5");
    await page.getByRole("dialog").getByRole("button", { name: "Create table" }).click();
    await page.getByRole("heading", { name: "notes" }).waitFor();
    await page.getByRole("button", { name: "Put row" }).click();
    const put = page.getByRole("dialog");
    await put.getByLabel(/^id/).fill("a");
    const long = "a_column_with_quite_a_long_name_that_does_not_fit_into_a_phone";
    const now = Date.now();
    for (const [i, [name, value, version]] of [
      [long, "One value that is so long that it takes several lines on a phone, whatever one does about it.", now],
      [long, "short", now - 1000],
      ["b", "x".repeat(120), now - 2000],
    ].entries()) {
      if (i > 0) await put.getByRole("button", { name: "Column", exact: true }).click();
      await put.getByLabel("Column", { exact: true }).nth(i).fill(name);
      await put.getByLabel(`Value of ${name}`).last().fill(value);
      await put.getByLabel(`Version of ${name}`).last().fill(String(version));
    }

    /** Fails unless each of these is wholly inside the dialog's width, inside its own box, and apart from the others. */
    const allSeen = async (selector) => {
      const wrong = await page.evaluate((selector) => {
        const dialog = document.querySelector("dialog[open]").getBoundingClientRect();
        const all = [...document.querySelectorAll(`dialog[open] :is(${selector})`)].map((element) => [element, element.getBoundingClientRect()]);
        const wrong = all.length === 0 ? ["there is nothing"] : [];
        for (const [element, box] of all) {
          const name = `${element.className || element.tagName} “${element.innerText ?? element.value}”`;
          if (box.width < 8 || box.height < 8) wrong.push(`${name} is not seen`);
          if (box.left < dialog.left || box.right > dialog.right)
            wrong.push(`${name} from ${box.left} to ${box.right}, the dialog from ${dialog.left} to ${dialog.right}`);
          if (
            element.tagName !== "SELECT" &&
            element.tagName !== "INPUT" &&
            element.scrollWidth > element.clientWidth + 1 &&
            getComputedStyle(element).display !== "inline"
          )
            wrong.push(`${name} is cut off`);
          for (const [other, place] of all) {
            if (element === other || element.contains(other) || other.contains(element)) continue;
            if (box.left < place.right - 1 && place.left < box.right - 1 && box.top < place.bottom - 1 && place.top < box.bottom - 1)
              wrong.push(`${name} overlaps ${other.innerText ?? other.value}`);
          }
        }
        return wrong;
      }, selector);
      assert.deepEqual(wrong, []);
    };
    await allSeen(".editor input, .editor select, .editor button");
    await shoot(page, "30-phone-put");
    await put.getByRole("button", { name: "Put row" }).click();
    const row = page.getByRole("dialog", { name: /^Row / });
    await row.locator(".versions").waitFor();
    await shoot(page, "31-phone-row");
    await allSeen(".versions th[scope=rowgroup], .versions td, .versions td code, .versions td button, .change input, .change select");
    assert.equal(
      await page.evaluate(() => [...document.querySelectorAll("dialog[open] .grid-scroll")].every((box) => box.scrollWidth <= box.clientWidth)),
      true,
      "nothing has to be scrolled sideways",
    );
    for (const version of [now, now - 1000, now - 2000]) {
      const cell = row.getByRole("cell", { name: new RegExp(String(version)) }).first();
      await cell.scrollIntoViewIfNeeded();
      assert.ok((await cell.innerText()).includes(new Date(version).toISOString().slice(0, 19).replace("T", " ")), "with its time");
      const reached = await cell.locator("code").evaluate((code) => {
        const { x, y, width, height } = code.getBoundingClientRect();
        return document.elementFromPoint(x + width - 2, y + height / 2) === code;
      });
      assert.ok(reached, `${version} is covered`);
    }
    // A version can be deleted with a finger.
    const last = row.getByRole("button", { name: `Delete the version ${now - 1000} of ${long}` });
    const { width, height } = await last.boundingBox();
    assert.ok(width >= 24 && height >= 24, `its button has ${width} by ${height} pixels`);
    await last.click();
    await row.getByRole("button", { name: "Delete this version" }).click();
    await row.getByText("short", { exact: true }).waitFor({ state: "detached" });
  },
  { needs: ["locators"] },
);

/** The element with the focus, by its name or its text. */
const focused = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    if (at === null || at === document.body) return "nothing";
    if (at.id === "main") return `main: ${at.querySelector("h1")?.innerText}`;
    if (at.matches(".dialog-body")) return `content of ${at.closest("dialog").querySelector("h2").innerText}`;
    return at.getAttribute("aria-label") ?? at.labels?.[0]?.innerText.trim() ?? at.innerText?.trim() ?? at.tagName;
  });

/** Waits until the focus is where it is expected; says where it is if it never is. */
async function focusIs(page, wanted, why) {
  let at;
  for (let tries = 0; tries < 40; tries++) {
    at = await focused(page);
    if (wanted instanceof RegExp ? wanted.test(at) : at === wanted) {
      // It stays there.
      await page.waitForTimeout(60);
      if (at === (await focused(page))) return;
    }
    await page.waitForTimeout(50);
  }
  assert.fail(`${why}: the focus is on ${JSON.stringify(at)}, not on ${wanted}`);
}

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1: with the keyboard alone, the focus goes to what was opened or chosen, and back when it is closed (${size})`,
    async (t) => {
      const server = await serveConsole(t);
      const context = await startBrowser(t, { viewport });
      const page = await openConsole(t, context, server);
      const is = (wanted, why) => focusIs(page, wanted, why);
      const press = (key) => page.keyboard.press(key);
      const tabTo = async (wanted, key = "Tab") => {
        const seen = [];
        for (let i = 0; i < 80; i++) {
          await press(key);
          const at = await focused(page);
          if (wanted.test(at)) return;
          seen.push(at);
        }
        assert.fail(`${key} does not come to ${wanted}, but to ${seen.join(" | ")}`);
      };
      await showForm(page);
      await page.getByText("None yet.").waitFor();
      await tabTo(/^Name$/);
      await press("Control+A");
      await page.keyboard.type("keyboard");
      await press("Enter");
      await is("main: An empty instance", "an instance was opened");

      // Choosing what to import, and changing one's mind.
      await press("Tab");
      await is("Import data", "the first thing in the main part");
      await press("Enter");
      await is(/^Stocks/, "a choice begins at the first thing to choose");
      await press("Escape");
      await is("Import data", "a dialog was left");
      await press("Enter");
      await is(/^Stocks/, "the choice again");
      await press("Enter");
      await is("Table", "a data set was chosen: its plan begins at its first field");
      await tabTo(/^Another file$/);
      await press("Enter");
      await is(/^Stocks/, "back at the choice");
      await press("Enter");
      await is("Table", "the plan again");
      await press("Enter");
      await is("main: stocks", "the table that is imported is shown");
      await page.getByText("Imported", { exact: true }).waitFor();
      await is("main: stocks", "the import has ended");
      await tabTo(/^Close$/);
      await press("Enter");
      await is("main: stocks", "the card of the import was closed");

      // A second table, and going from one to the other.
      await tabTo(/^Create table$/, "Shift+Tab");
      await press("Enter");
      await is("Table name", "a form begins at its first field");
      await page.keyboard.type("stocks");
      await press("Enter");
      await page
        .getByRole("alert")
        .getByText(/already/)
        .waitFor();
      await is("Table name", "what is wrong leaves the focus where it is");
      await press("Control+A");
      await page.keyboard.type("other");
      await press("Enter");
      await is("main: other", "a table was created");
      await tabTo(/^stocks/, "Shift+Tab");
      await press("Enter");
      await is("main: stocks", "a table was chosen");
      assert.ok(await page.evaluate(() => document.querySelector("#main h1").getBoundingClientRect().top < innerHeight), "what was chosen is in sight");

      // The options.
      await press("Tab");
      await is("Modify table", "what comes first in the table");
      await press("Enter");
      await is("Never expires (-1)", "the first field that can be changed");
      await press("Escape");
      await is("Modify table", "the options were left");
      await press("Enter");
      await tabTo(/^Max versions$/);
      await page.keyboard.type("2");
      await press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await is("Modify table", "the options were changed");

      // Rows.
      await tabTo(/^AAPL$/);
      await press("ArrowDown");
      await press("Enter");
      await is(/^content of Row /, "a row begins with its content");
      await press("Escape");
      await is("AAPL", "a row was left");
      const second = await page.evaluate(() => document.activeElement.closest("tr").sectionRowIndex);
      assert.equal(second, 1, "the same row has the focus again");
      await press("Enter");
      await is(/^content of Row /, "the row again");
      await tabTo(/^Delete the version /);
      await press("Enter");
      await is("Keep it", "a version is not gone with one key");
      await press("Shift+Tab");
      await press("Enter");
      await page.getByText("This row has no attribute columns.").waitFor();
      await is(/^content of Row /, "the version that had the focus is gone");
      await tabTo(/^Column$/);
      await page.keyboard.type("price");
      await tabTo(/^Value$/);
      await page.keyboard.type("1");
      await tabTo(/^Update$/);
      await press("Enter");
      await page.getByRole("dialog").locator(".versions").waitFor();
      await is("Update", "a change was made, another can be");
      await tabTo(/^Replace row$/);
      await press("Enter");
      await is("Column", "the key cannot be changed, so the columns come first");
      await press("Escape");
      await is("Replace row", "nothing was replaced");
      await tabTo(/^Delete row$/, "Shift+Tab");
      await press("Enter");
      await is("Keep it", "a question begins at what changes nothing");
      await press("Enter");
      await is("Delete row", "the row was kept");
      await press("Enter");
      await is("Keep it", "the question again");
      await press("Shift+Tab");
      await is("Delete all versions of it", "the other answer");
      const [, , third] = await page.locator(".browser table.grid tbody tr").evaluateAll((rows) => rows.map((row) => row.cells[1].innerText));
      await press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.waitForFunction((third) => document.querySelectorAll(".browser table.grid tbody tr")[1]?.cells[1].innerText === third, third);
      await is("AAPL", "a row was deleted");
      assert.equal(await page.evaluate(() => document.activeElement.closest("tr").cells[1].innerText), third, "the row in its place has the focus");

      // Pages: the last page has no next one.
      await tabTo(/^Last page$/);
      await press("Enter");
      await page.waitForFunction(() => document.querySelector(".open-row")?.innerText === "MSFT");
      await is("Last page", "the page was turned to the end");
      assert.ok((await keysShown(page)).length > 0);

      // The engine works while its button keeps the focus.
      await tabTo(/^Compact$/);
      await press("Enter");
      await page.waitForFunction(() => [...document.querySelectorAll(".engine .fact")].some(({ innerText }) => /^Compactions\s+[1-9]/.test(innerText)));
      await is("Compact", "the compaction has ended");

      // The end of a table, and of the instance.
      await tabTo(/^Delete table$/, "Shift+Tab");
      await press("Enter");
      await is(/^Type stocks to confirm/, "what has to be typed");
      await page.keyboard.type("stocks");
      await press("Enter");
      await is("main: Choose a table", "the table is gone");
      await tabTo(/^Close instance$/, "Shift+Tab");
      await press("Enter");
      await is("main: A wide-column database in this tab", "the instance was closed");
      await tabTo(/^Delete keyboard$/);
      await press("Enter");
      await is("Cancel", "a question begins at what changes nothing");
      await press("Enter");
      await is("Delete keyboard", "nothing was deleted");
      await press("Enter");
      await is("Cancel", "the question again");
      await tabTo(/^Delete instance$/);
      await press("Enter");
      // Without an instance there is no form, as at the first visit.
      await page.getByRole("button", { name: "Open my instance" }).waitFor();
      await is("main: A wide-column database in this tab", "the instance is gone");
    },
    { seconds: 120, needs: ["locators"] },
  );
}
