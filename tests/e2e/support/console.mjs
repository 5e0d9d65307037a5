// The console in a browser: opening it, and common steps of its tests. Screenshots go to target/e2e.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";

import { load, startBrowser } from "./browser.mjs";
import { engine } from "./engine.mjs";
import { root, serveConsole } from "./server.mjs";

const pictures = path.join(root, "target/e2e");
/** A desktop's. */
export const VIEWPORT = { width: 1440, height: 900 };
/** A wide window and a narrow one. */
export const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** Whether a page tells what it says and asks for, and can be pictured: over WebDriver it tells of uncaught errors only. */
const isTelling = !("locators" in engine.lacks);

/** Takes a picture, to look at. */
export const shoot = async (page, name) => {
  if (isTelling) await page.screenshot({ path: path.join(pictures, `${name}.png`), caret: "initial" });
};

/** Notes what a page complains of, and what it asks of others than its server. */
function hearOf(page, server, troubles) {
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) troubles.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(server.origin)) troubles.push(`request: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
  });
}

/** A page with the console. Whatever it complains of, and whatever it asks of others, fails the test. */
export async function openConsole(t, context, server, hash = "") {
  mkdirSync(pictures, { recursive: true });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => {
    if (!engine.isNotice?.(error)) troubles.push(`error: ${error}`);
  });
  if (isTelling) hearOf(page, server, troubles);
  // The text says which step a person would see it stand at, and the pictures of CI are not kept.
  t.explain(async () => {
    const texts = await page.evaluate(() =>
      [location.hash, ...document.querySelectorAll("dialog[open], [role=alert], [role=status]")].map((one) => one.innerText ?? one),
    );
    return `the console showed: ${texts.join(" | ").replaceAll(/\s+/g, " ").slice(0, 1500)}; and complained: ${troubles.join("; ") || "of nothing"}`;
  });
  t.after(() => assert.deepEqual(troubles, [], "the console complained"));
  await page.goto(`${server.origin}/${hash}`);
  return page;
}

/** Shows the form that opens instances: at the first visit it stands behind a button. */
export async function showForm(page) {
  await page.getByRole("link", { name: /Watch it work|看它工作/ }).waitFor();
  const own = page.getByRole("button", { name: "Open my instance" });
  if (await own.isVisible()) await own.click();
}

/** Opens a new instance by the form. */
export async function openInstance(page, name) {
  await showForm(page);
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("heading", { name: "An empty instance" }).waitFor();
}

/**
 * A console with a new instance, and a page of the package that has it open too, as `db`, where `fill` runs with `given` before the
 * console is looked at.
 */
export async function withProgram(t, name, { viewport = VIEWPORT, fill = () => {}, given } = {}) {
  const server = await serveConsole(t);
  const context = await startBrowser(t, { viewport });
  const page = await openConsole(t, context, server);
  await openInstance(page, name);
  const other = await context.newPage();
  await load(other, server, "/package/");
  await other.evaluate(async (name) => {
    globalThis.db = await T.open(name, { create: false });
  }, name);
  await other.evaluate(fill, given);
  await page.bringToFront();
  return { server, context, page, other };
}

/** Makes a table of a few people: a `fill` for `withProgram`. */
export const people = async () => {
  await db.createTable({ tableName: "people", primaryKey: [{ name: "id", type: "STRING" }] });
  const rows = { ann: { age: 30n, city: "Oslo", vip: true }, bob: { age: 40n, city: "Rome" }, cy: { age: 50n }, dee: { city: "Oslo", vip: false } };
  for (const [id, attributes] of Object.entries(rows)) await db.putRow({ tableName: "people", primaryKey: { id }, attributes });
};

/** Goes to a place in the console, as by a bookmark. */
export async function goTo(page, hash) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, hash);
  await page.reload();
}

/** Presses a button. */
export const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

/** The first key of each row shown. */
export const keysShown = (page) => page.locator(".browser table.grid button.open-row").allInnerTexts();

/** Waits until the rows shown begin with a key. */
export const firstKey = (page, key) => page.waitForFunction((key) => document.querySelector(".browser table.grid button.open-row")?.innerText === key, key);

/** Imports a data set of the console's, as the console suggests, into the open instance; gives the card that tells of it. */
export async function importSet(page, file) {
  const before = page.getByRole("region", { name: "Import" }).getByRole("button", { name: "Close" });
  if (await before.isVisible()) await before.click();
  await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
  await page.getByRole("button", { name: new RegExp(file.replaceAll(".", "\\.")) }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^(?:Create table and i|I)mport/ })
    .click();
  const job = page.getByRole("region", { name: "Import" });
  await job.getByText(file).waitFor();
  await job.getByText("Imported", { exact: true }).waitFor({ timeout: 60_000 });
  return job;
}

/** The exact figure that the engine's panel has under a label. */
export const fact = (page, label) =>
  page.evaluate((label) => {
    const found = [...document.querySelectorAll(".engine .fact")].find((one) => one.firstElementChild.innerText === label);
    const data = found?.querySelector("data");
    return data === null || data === undefined ? undefined : Number(data.value);
  }, label);

/** A page is hidden and shown again, and never has the focus: as a window beside the one that a person types in. */
export const show = (page) =>
  page.evaluate(() => {
    for (const hidden of [true, false]) {
      Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }
    delete document.hidden;
  });

/** A person looks at another tab, and comes back to this one. A driven browser tells its pages nothing of that. */
export async function look(page) {
  await page.bringToFront();
  await page.evaluate(() => {
    dispatchEvent(new Event("blur"));
    dispatchEvent(new Event("focus"));
  });
}

/** The editor of programs. */
export const editorOf = (page) => page.getByRole("textbox", { name: /^Program/ });

/**
 * Pastes a text in place of the one that is there. A driver that fills in several lines has the browser make their elements, with styles
 * that the page's policy refuses; the editor makes its own.
 */
export const paste = async (page, text) => {
  await editorOf(page).press("ControlOrMeta+a");
  await editorOf(page).evaluate((content, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    // Firefox has members of its own.
    content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, data: text, dataType: "text/plain", bubbles: true, cancelable: true }));
  }, text);
};
