// The console's export of a table: what the browser gets as a file has all rows, in each form.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { startBrowser } from "../support/browser.mjs";
import { importSet, openConsole, openInstance, shoot, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

test(
  "W1: a table is exported from the console as CSV, JSON and NDJSON, with the number of its rows, and an import finds the same rows",
  async (t) => {
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "export");
    await importSet(page, "movies.json");
    const dialog = page.getByRole("dialog");
    /** The text of the file of a form, and its name. */
    const exported = async (form) => {
      await page.getByRole("button", { name: "Export rows" }).click();
      await dialog.getByLabel("Format").selectOption(form);
      const downloading = page.waitForEvent("download");
      await dialog.getByRole("button", { name: "Export", exact: true }).click();
      const download = await downloading;
      await dialog.getByText(/^[\d,.]+ rows, .*the file is in your downloads/).waitFor();
      if (form === "csv") await shoot(page, "90-export");
      const said = Number((await dialog.getByRole("status").innerText()).split(" ")[0].replaceAll(/\D/g, ""));
      await dialog.getByRole("button", { name: "Close" }).last().click();
      await dialog.waitFor({ state: "detached" });
      return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8"), said };
    };
    const [csv, objects, lines, exact] = [await exported("csv"), await exported("objects"), await exported("lines"), await exported("exact")];
    const rows = JSON.parse(objects.text);
    assert.ok(rows.length > 1000 && [csv, objects, lines, exact].every(({ said }) => said === rows.length), `${rows.length} rows`);
    assert.deepEqual(
      [csv, objects, lines, exact].map(({ name }) => name),
      ["movies.csv", "movies.json", "movies.ndjson", "movies.ndjson"],
    );
    assert.deepEqual(
      lines.text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
      rows,
    );
    assert.equal(csv.text.split("\r\n")[0].split(",")[0], Object.keys(rows[0])[0]);
    const same = await page.evaluate(async (text) => {
      const { open } = await import("/package/pkg/index.js");
      const read = async (db) => {
        const all = [];
        for await (const row of db.scan({ tableName: "movies", maxVersions: 5 })) all.push([row.primaryKey, row.columns]);
        return JSON.stringify(all);
      };
      const from = await open("export", { create: false });
      const { primaryKey, maxVersions } = await from.describeTable("movies");
      const to = await open("import", { storage: "memory" });
      await to.createTable({ tableName: "movies", primaryKey, maxVersions });
      await to.importRows("movies", new Blob([text]), { format: "ndjson" });
      const same = (await read(from)) === (await read(to));
      await Promise.all([from.close(), to.close()]);
      return same;
    }, exact.text);
    assert.equal(same, true);

    // Of a range, chosen columns and a filter the file has what the view shows, unless a person says otherwise.
    const [key] = Object.keys(rows[0]);
    await page.evaluate(() => {
      location.hash = `#/export/movies?columns=${encodeURIComponent('["Title"]')}&start=${encodeURIComponent('["10"]')}&end=${encodeURIComponent('["20"]')}`;
    });
    await page.waitForFunction(() => document.querySelectorAll(".browser .open-row").length === 10);
    const part = await exported("objects");
    assert.deepEqual(
      JSON.parse(part.text),
      rows
        .filter((row) => row[key] >= 10 && row[key] < 20)
        .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => [key, "Title"].includes(name)))),
    );
    assert.equal(part.said, 10);
    await page.getByRole("button", { name: "Export rows" }).click();
    await dialog.getByText("Only what the view shows: the range, 1 column").waitFor();
    await dialog.getByLabel(/^Only what the view shows/).uncheck();
    const downloading = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Export", exact: true }).click();
    const whole = readFileSync(await (await downloading).path(), "utf8");
    assert.equal(whole, csv.text);
  },
  { needs: ["locators", "downloads"] },
);
