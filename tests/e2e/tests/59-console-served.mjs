// The console of `npx tabstore serve`: it shows the instance of the server, and nothing of the browser.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { faults, fitsWidth } from "../support/axe.mjs";
import { startBrowser } from "../support/browser.mjs";
import { editorOf, firstKey, openConsole, paste, press, shoot, SIZES, VIEWPORT } from "../support/console.mjs";
import { test } from "../support/harness.mjs";
import { program, serve } from "../support/served.mjs";

const TABLE = {
  tableName: "reading",
  primaryKey: [{ name: "station", type: "STRING" }],
  maxVersions: 2,
  stream: { enabled: true, expirationHours: 24 },
};

/** A page with the console of a server. */
async function consoleOf(t, server, viewport = VIEWPORT, hash = "") {
  const context = await startBrowser(t, { viewport });
  return openConsole(t, context, { origin: server.console }, hash);
}

const chip = (page, text) => page.locator(".instance-chip .tag").getByText(text, { exact: true }).waitFor();
const table = (page, name) => page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: new RegExp(`^${name}`) });

test(
  "W1, R1, R4: the console of a server shows the server's data, live and for writing, and goes on when the server was killed and is there again",
  async (t) => {
    const data = mkdtempSync(path.join(os.tmpdir(), "tabstore-served-"));
    t.after(() => rmSync(data, { recursive: true, force: true }));
    const server = await serve(t, "--data", data);
    const other = await program(t, server);
    await other.createTable(TABLE);
    await other.putRow({ tableName: "reading", primaryKey: { station: "SEA" }, attributes: { wet: true } });
    const page = await consoleOf(t, server);
    await chip(page, "server, in files");
    assert.equal(new URL(page.url()).hash, "#/demo");
    await table(page, "reading").click();
    await firstKey(page, "SEA");
    assert.equal(await page.evaluate(async () => (await indexedDB.databases()).length), 0, "nothing is in the browser");
    await page.getByText("a session of the server").waitFor();

    // What another program writes is shown at once, and what is put here that program reads.
    await other.putRow({ tableName: "reading", primaryKey: { station: "ABC" }, attributes: { wet: false } });
    await firstKey(page, "ABC");
    await press(page, "Put row");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("station").fill("ZRH");
    await dialog.getByRole("button", { name: "Put row" }).click();
    await page.getByRole("button", { name: "ZRH", exact: true }).waitFor();
    const { row } = await other.getRow({ tableName: "reading", primaryKey: { station: "ZRH" } });
    assert.equal(row?.primaryKey.station, "ZRH");
    await shoot(page, "console-served");

    // The server dies: the page says so. It comes again at the same address.
    await page.keyboard.press("Escape");
    await server.kill();
    await page.getByText("The server has gone").waitFor();
    assert.deepEqual(await faults(page, "the server has gone"), []);
    await serve(t, "--data", data, "--console-port", new URL(server.console).port);
    await press(page, "Try again");
    await chip(page, "server, in files");
    await page.getByRole("button", { name: "ZRH", exact: true }).waitFor();
  },
  { runs: ["chromium"] },
);

test(
  "I6, W1: a server with a secret of its own asks for the access key, refuses a wrong one, and the tab keeps the right one (phone)",
  async (t) => {
    const server = await serve(t, "--access-key-id", "mine", "--access-key-secret", "a-secret-of-my-own");
    const page = await consoleOf(t, server, SIZES.phone);
    await page.getByText("“demo” asks for an access key").waitFor();
    assert.deepEqual(await faults(page, "the form of the key", () => shoot(page, "console-served-key")), []);
    await fitsWidth(page, "the form of the key");
    const enter = async (secret) => {
      await page.getByLabel("Access key").fill("mine");
      await page.getByLabel("Secret").fill(secret);
      await press(page, "Enter");
    };
    await enter("another one");
    await page.getByText("its secret is another one").waitFor();
    await enter("a-secret-of-my-own");
    await chip(page, "server, in memory");
    await page.reload();
    await chip(page, "server, in memory");
    await page.getByText("Its tables are gone when the server stops.").waitFor();
    await fitsWidth(page, "the instance");
  },
  { runs: ["chromium"] },
);

test(
  "W1, R1: the first page of a server's console has its instance, lessons and examples; an instance of another name is refused",
  async (t) => {
    const server = await serve(t);
    const page = await consoleOf(t, server, VIEWPORT, "#/elsewhere");
    await page.getByText("This server has no instance called “elsewhere”").waitFor();
    await press(page, "Open demo");
    await chip(page, "server, in memory");
    await press(page, "Close instance");
    await page.getByRole("heading", { name: "The instance of this server" }).waitFor();
    await page.getByRole("heading", { name: "Lessons" }).waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Name" }).count(), 0, "no instance of the browser is offered");
    assert.deepEqual(await faults(page, "the first page", () => shoot(page, "console-served-first")), []);
    await page.getByRole("button", { name: /^demo/ }).click();
    await chip(page, "server, in memory");

    // A program has the server's instance too.
    await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Code" }).click();
    await editorOf(page).waitFor();
    await paste(page, 'await db.createTable({ tableName: "made", primaryKey: [{ name: "id", type: "INTEGER" }] });');
    await press(page, "Run");
    await page
      .locator(".code-state")
      .getByText(/^Done in/)
      .waitFor();
    const other = await program(t, server);
    assert.deepEqual(await other.listTable(), ["made"]);
  },
  { runs: ["chromium"] },
);
