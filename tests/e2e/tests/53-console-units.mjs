// Units and calls in the console: what the charts and the tables beside them say of a known load.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

import { faults, fitsWidth } from "../support/axe.mjs";
import { load, startBrowser } from "../support/browser.mjs";
import { importSet, openConsole, openInstance, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test, turns } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

const HOUR = 1_700_002_800_000;

/** Functions that read the page, as `globalThis.units`. By the document alone: not every engine's driver finds elements by their roles. */
const readers = (page) =>
  page.evaluate(() => {
    const exact = (cell) => {
      const data = cell.querySelector("data");
      return data === null ? undefined : Number(data.value);
    };
    const figure = (title) => [...document.querySelectorAll(".figure")].find((one) => one.querySelector("h3").textContent === title);
    globalThis.units = {
      /** Presses the button with this text, once it is there. */
      press: (text) => {
        const button = [...document.querySelectorAll("button")].find((one) => one.textContent.trim() === text);
        button?.click();
        return button !== undefined;
      },
      /** The table beside a chart: the texts of its rows. */
      table: (title) => [...(figure(title)?.querySelectorAll("tbody tr") ?? [])].map((row) => [...row.children].map((cell) => cell.textContent)),
      /** The calls by operation. */
      calls: () =>
        Object.fromEntries(
          [...document.querySelectorAll("table.operations tbody tr")].map((row) => {
            const [name, rate, mean, p50, p99, requests, errors] = [...row.children];
            return [
              name.textContent,
              { rate: exact(rate), mean: exact(mean), p50: exact(p50), p99: exact(p99), requests: exact(requests), errors: exact(errors) },
            ];
          }),
        ),
      /** The exact numbers of a fact. */
      fact: (label) => {
        const fact = [...document.querySelectorAll("main .fact")].find((one) => one.firstElementChild.textContent === label);
        return fact === undefined ? undefined : [...fact.querySelectorAll("data")].map(({ value }) => Number(value));
      },
      text: () => document.querySelector("main").innerText,
      /** The points of a chart that have the colour of each of its lines. */
      drawn: (title) => {
        const canvas = figure(title).querySelector("canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return [...figure(title).querySelectorAll(".swatch")].map((swatch) => {
          const wanted = getComputedStyle(swatch)
            .color.match(/[\d.]+/g)
            .map(Number);
          let points = 0;
          for (let at = 0; at < data.length; at += 4)
            if ([0, 1, 2].every((part) => Math.abs(data[at + part] - wanted[part]) <= 2)) points += data[at + 3] > 250;
          return points;
        });
      },
      type: (name, text) => {
        const input = document.querySelector(`input[name=${name}]`);
        input.value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      },
    };
  });

const press = (page, text) => page.waitForFunction((text) => units.press(text), text, { polling: 50 });

/** A page with the package, whose engine leads: it makes the load. `db` is its handle. */
async function leader(context, server, options) {
  const page = await context.newPage();
  await load(page, server, "/package/");
  await page.evaluate(async (options) => {
    globalThis.db = await T.open("units", options);
    await db.createTable({ tableName: "reading", primaryKey: [{ name: "id", type: "INTEGER" }], reservedThroughput: { read: 100, write: 0 } });
  }, options);
  return page;
}

test(
  "C2, C3: beside the charts of units stand the reserved and the on-demand ones of each second and hour, and a bill by prices that are typed",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const other = await leader(context, server, { clock: { now: HOUR } });
    const page = await openConsole(t, context, server, `#/units/reading?clock=${HOUR}&view=units`);
    await page.waitForFunction(() => document.querySelector(".figure canvas") !== null);
    await readers(page);
    // The documents' three seconds.
    await other.evaluate(async (HOUR) => {
      for (const [second, reads] of [120, 95, 110].entries()) {
        await db.setClock(HOUR + (second + 1) * 1000);
        await Promise.all(Array.from({ length: reads }, () => db.getRow({ tableName: "reading", primaryKey: { id: 1 } })));
      }
      await H.refusal(() => db.getRow({ tableName: "nowhere", primaryKey: { id: 1 } }));
      await db.setClock(HOUR + 4000);
    }, HOUR);
    await press(page, "Read units by second as a table");
    await page.waitForFunction(() => units.table("Read units by second").some(([at]) => at === "23:00:04"), undefined, { polling: 50 });
    const seconds = await page.evaluate(() => units.table("Read units by second"));
    assert.deepEqual(
      seconds.filter(([at]) => at > "23:00:00" && at < "23:00:04"),
      [
        ["23:00:03", "100", "100", "10"],
        ["23:00:02", "100", "95", "0"],
        ["23:00:01", "100", "100", "20"],
      ],
      "second, reserved, used of those, on-demand",
    );
    const drawn = await page.evaluate(() => units.drawn("Read units by second"));
    assert.ok(
      drawn.every((points) => points > 10),
      `the reserved line, what was used of it and what is on-demand are drawn in their colours: ${drawn} points`,
    );
    await shoot(page, "30-units");

    // An hour later its bill is whole: 100 units reserved at 2 each, 30 on-demand at 10,000 for 10,000.
    await other.evaluate((HOUR) => db.setClock(HOUR + 3_600_000), HOUR);
    await press(page, "On-demand units by hour as a table");
    await press(page, "Bill by hour as a table");
    await page.evaluate(() => {
      units.type("reservedRead", "2");
      units.type("onDemandRead", "10000");
    });
    await page.waitForFunction(() => units.table("Bill by hour").some(([, cost]) => cost === "230.00"), undefined, { polling: 50 });
    const hours = await page.evaluate(() => ({
      onDemand: units.table("On-demand units by hour"),
      sum: ["Reserved, in unit-hours", "On-demand units, in all", "Used units, in all", "Bill of the last 24 hours"].map(units.fact),
    }));
    assert.deepEqual(hours.onDemand[1], ["2023-11-14 23:00", "30", "0"]);
    assert.deepEqual(hours.sum, [[100, 0], [30, 0], [325, 0], [230]]);
    await page.evaluate(() => units.type("reservedRead", "free"));
    await page.waitForFunction(() => units.text().includes("A price is a number"));

    // All tables have one unit more: that of the table which is not there.
    await page.evaluate(() => {
      const select = document.querySelector("select[aria-label='Table whose units are shown']");
      select.value = "";
      select.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await page.waitForFunction(() => units.fact("On-demand units, in all")?.[0] === 31, undefined, { polling: 50 });
    assert.match(await page.evaluate(() => location.hash), /^#\/units\?.*view=units/);

    // An address may name a table that is gone.
    await page.evaluate(() => {
      location.hash = location.hash.replace("#/units?", "#/units/gone?");
    });
    await page.waitForFunction(() => document.querySelector("main [role=alert]")?.textContent.includes("OTSObjectNotExist"), undefined, { polling: 50 });
    await page.evaluate(() => {
      location.hash = location.hash.replace("#/units/gone?", "#/units/reading?");
    });
    await page.waitForFunction(() => units.fact("On-demand units, in all")?.[0] === 30, undefined, { polling: 50 });
  },
  { seconds: 90 },
);

test(
  "I5: in every tab the console shows requests, errors, mean and percentiles of each operation, and reads only while it is seen",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const other = await leader(context, server, {});
    const pages = [];
    for (let i = 0; i < 2; i++) {
      const page = await openConsole(t, context, server, "#/units?view=units");
      await page.waitForFunction(() => document.querySelector("main .figure canvas") !== null);
      await readers(page);
      pages.push(page);
    }
    for (const page of pages) {
      await page.waitForFunction(() => units.text().includes("No row has been asked for"));
      assert.match(await page.evaluate(() => units.text()), /Nobody has read rows since the instance was opened.*no hit rate yet/s);
      assert.match(await page.evaluate(() => units.text()), /The leader\s+another tab/);
      await page.waitForFunction(() => units.fact("Other handles that follow")?.[0] === 1, undefined, { polling: 50 });
    }
    await other.evaluate(async () => {
      const [there, nowhere] = ["reading", "nowhere"].map((tableName) => (id) => db.getRow({ tableName, primaryKey: { id } }));
      await Promise.all(Array.from({ length: 8 }, (_, id) => there(id)));
      await Promise.all(Array.from({ length: 4 }, (_, id) => H.refusal(() => nowhere(id))));
      // One after another, until it was seen.
      globalThis.puts = 0;
      globalThis.seen = false;
      globalThis.putting = (async () => {
        while (!seen) {
          await db.putRow({ tableName: "reading", primaryKey: { id: puts++ }, attributes: {} });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      })();
    });
    for (const page of pages) {
      await page.waitForFunction(
        () => {
          const { rate, mean, p50, p99 } = units.calls().PutRow ?? {};
          return rate > 0 && mean > 0 && p50 > 0 && p99 >= p50;
        },
        undefined,
        { polling: 50 },
      );
    }
    const stored = await other.evaluate(async () => {
      seen = true;
      await putting;
      return puts;
    });
    for (const page of pages) {
      await page.waitForFunction((stored) => units.calls().PutRow.requests === stored, stored, { polling: 50 });
      const { GetRow, PutRow } = await page.evaluate(() => units.calls());
      assert.deepEqual([GetRow.requests, GetRow.errors, PutRow.requests, PutRow.errors], [12, 4, stored, 0]);
      await press(page, "Errors as a table");
      await page.waitForFunction(() => units.table("Errors").length > 0, undefined, { polling: 50 });
    }

    // Whoever does not see it needs no figures; whoever comes back has them.
    const [page] = pages;
    await page.evaluate(() => Object.defineProperty(document, "hidden", { configurable: true, value: true }));
    await pause(300);
    await other.evaluate(() => Promise.all(Array.from({ length: 5 }, (_, id) => db.putRow({ tableName: "reading", primaryKey: { id }, attributes: {} }))));
    await pages[1].waitForFunction((stored) => units.calls().PutRow.requests === stored + 5, stored, { polling: 50 });
    await pause(1500);
    assert.equal((await page.evaluate(() => units.calls())).PutRow.requests, stored, "a page that is hidden does not ask");
    await page.evaluate(() => {
      delete document.hidden;
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.waitForFunction((stored) => units.calls().PutRow.requests === stored + 5, stored, { polling: 50 });
  },
  { seconds: 90 },
);

for (const [size, viewport] of turns(Object.entries(SIZES))) {
  test(
    `W1, I5: axe finds nothing in units and calls, whose code is loaded when they are opened (${size}, light and dark)`,
    async (t) => {
      const server = await serveConsole(t);
      const context = await startBrowser(t, { viewport });
      const page = await openConsole(t, context, server);
      await openInstance(page, "watched");
      await importSet(page, "stocks.csv");
      const loaded = () => page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => /\/monitor-[^/]*\.(js|css)$/.test(name)).length);
      assert.equal(await loaded(), 0, "nobody has asked for them");
      await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Units and calls" }).click();
      await page.getByRole("heading", { name: "Units and calls", level: 1 }).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the keyboard goes on there");
      assert.equal(await loaded(), 2);
      const findings = [];
      const look = async (name) => {
        findings.push(...(await faults(page, name)));
        await page.emulateMedia({ colorScheme: "light" });
        await fitsWidth(page, name);
        await shoot(page, `31-units-${size}`);
      };
      await page.getByRole("region", { name: "Calls by operation" }).getByText("BatchWriteRow").waitFor();
      await look("units and calls");
      for (const title of ["Read units by second", "Requests", "Bill by hour"]) await page.getByRole("button", { name: `${title} as a table` }).click();
      await page.getByLabel("Reserved: one read unit a second, for an hour").fill("free");
      await page.getByText("A price is a number").waitFor();
      await look("its tables, and a price that is none");
      await page.getByRole("region", { name: "This hour by table" }).getByRole("button", { name: "stocks" }).click();
      await page.getByRole("heading", { name: "Capacity units of stocks" }).waitFor();
      await page.getByRole("button", { name: "Rows of stocks" }).click();
      await page.getByRole("heading", { name: "stocks", level: 1 }).waitFor();
      assert.deepEqual(findings, []);
    },
    { full: true, seconds: 120, needs: ["locators"] },
  );
}
