// Real texts in many scripts, imported by the console from files of one's own, and read back by the package in the same page.

import assert from "node:assert/strict";

import { startBrowser } from "../support/browser.mjs";
import { openConsole, openInstance, shoot, VIEWPORT } from "../support/console.mjs";
import { compareRows, figures, foreignFiles, told } from "../support/foreign-files.mjs";
import { test, times } from "../support/harness.mjs";
import { serveConsole } from "../support/server.mjs";

/** Imports of pieces of a file, after those of whole files. */
const PIECES = times(20, 2);

/** Chooses the key that the rows have, and the table's name, whatever the console suggests. */
async function plan(dialog, { tableName, primaryKey }) {
  await dialog.getByLabel("Table", { exact: true }).fill(tableName);
  const pressed = dialog.getByRole("button", { name: /^Key \d: / });
  while ((await pressed.count()) > 0) await pressed.first().click();
  const numbered = dialog.getByLabel("A key column with the row's number");
  if (await numbered.isChecked()) await numbered.uncheck();
  for (const { name, type } of primaryKey) {
    await dialog.getByRole("button", { name: `Key: add ${name}`, exact: true }).click();
    assert.equal(await dialog.getByLabel(`Type of ${name}`, { exact: true }).inputValue(), type);
  }
}

/** All rows of a table, read by the package in a page of the console that has closed its instance. */
async function read({ instance, tableName }) {
  const { open } = await import("/package/pkg/index.js");
  const db = await open(instance, { create: false });
  const rows = [];
  for await (const row of db.scan({ tableName })) {
    rows.push({ primaryKey: row.primaryKey, attributes: Object.fromEntries(row.columnNames.map((name) => [name, row.get(name)])) });
  }
  await db.close();
  return JSON.stringify(rows);
}

test(
  "D2, W1: files with texts in many scripts, chosen in the console's import, are stored as they say, byte by byte, and shown so",
  async (t) => {
    const files = await foreignFiles();
    const server = await serveConsole(t);
    const context = await startBrowser(t, { viewport: VIEWPORT });
    const page = await openConsole(t, context, server);
    await openInstance(page, "foreign");
    const job = page.getByRole("region", { name: "Import" });
    /** Imports bytes as a file of this name, and closes the card that tells of it. */
    const take = async (file, name, bytes, rows) => {
      await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.locator("input[type=file]").setInputFiles({ name, mimeType: "", buffer: Buffer.from(bytes) });
      await plan(dialog, file);
      await dialog.getByRole("button", { name: /^(?:Create table and i|I)mport/ }).click();
      await job.getByText(name).waitFor();
      await job.getByText("Imported", { exact: true }).waitFor({ timeout: 60_000 });
      assert.equal(Number((await job.locator(".job-figures b").innerText()).replaceAll(/\D/g, "")), rows, name);
      await job.getByRole("button", { name: "Close" }).click();
    };
    for (const file of files) {
      await take(file, file.name, file.bytes, file.rows.length);
      // The grid shows what the file says: its first row is one of the file's, with these very texts.
      await page.locator(".browser .open-row").first().waitFor();
      const [key, ...cells] = await page.locator(".browser table.grid tbody tr").first().locator("td").allTextContents();
      assert.ok(
        file.rows.some(({ primaryKey, attributes }) => {
          const texts = [...Object.values(primaryKey), ...Object.values(attributes)].map(String);
          return texts[0] === key && cells.every((cell) => cell === "–" || /…/.test(cell) || texts.includes(cell));
        }),
        `${file.name}: ${[key, ...cells].join(" | ")} is no row of it`,
      );
    }
    await shoot(page, "40-foreign");
    // Pieces of one of them again, over what is there: their texts lie elsewhere in the buffers that carry them.
    const pieces = files.find(({ format }) => format === "ndjson");
    const lines = new TextDecoder().decode(pieces.bytes).trimEnd().split("\n");
    for (let i = 0; i < PIECES; i++) {
      const cut = lines.slice(i * 37, i * 37 + 150 + 13 * i);
      await take(pieces, `piece-${i}.ndjson`, new TextEncoder().encode(`${cut.join("\n")}\n`), cut.length);
    }
    await page.getByRole("button", { name: "Close instance" }).click();
    await page.getByRole("button", { name: /^foreign/ }).waitFor();
    let compared = 0;
    for (const { name, tableName, rows } of files) {
      compared += compareRows(rows, JSON.parse(await page.evaluate(read, { instance: "foreign", tableName })), `${name} in ${tableName}`);
    }
    const all = figures(files.flatMap(({ rows }) => rows));
    assert.ok(files.length >= 5 && all.scripts.size >= 10, told(all));
    t.note(`${files.length} files: ${told(all)}; ${compared} bytes of texts compared; ${PIECES} pieces`);
  },
  { full: true, seconds: 180, needs: ["locators"] },
);
