// The console out of the tarball: `npx tabstore console`, Vite's plugin, the panel in a page, and hosting without a network.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { tier } from "../report.mjs";

const example = fileURLToPath(new URL("../../examples/inspector", import.meta.url));
const inline = (source) => source.replace('from "tabstore"', 'from "tabstore/inline"');

/** The example in a version of Vite. Vite 7 knows the inline entry only. */
const app = (version, change = (source) => source) => ({
  name: `Vite ${version}`,
  folder: `inspector-vite-${version.split(".")[0]}`,
  dev: { vite: version, typescript: "5.9.3" },
  serve: ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--strictPort", "--port"],
  build: ["node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"],
  files: Object.fromEntries(
    readdirSync(example)
      .filter((name) => name !== "README.md")
      .map((name) => [name, name === "main.js" ? change(readFileSync(path.join(example, name), "utf8")) : readFileSync(path.join(example, name), "utf8")]),
  ),
});

const TYPED = `import { defineConfig, type Plugin } from "vite";
import { tabstore } from "tabstore/vite";
import type { TabstoreInspector } from "tabstore/inspector";
const plugin: Plugin = tabstore({ path: "/__db/" });
export default defineConfig({ plugins: [plugin, tabstore()] });
const element: TabstoreInspector = document.createElement("tabstore-inspector");
element.instance = "shop";
// @ts-expect-error a path is a text
tabstore({ path: 5 });
`;
const STRICT = "--noEmit --strict --exactOptionalPropertyTypes --module esnext --moduleResolution bundler --target es2022 --skipLibCheck".split(" ");

/** A context whose pages' complaints fail the test. */
async function pages(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const errors = [];
  context.on("page", (page) => {
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
  });
  return { context, errors };
}

const items = (page, names) =>
  page.waitForFunction((names) => [...document.querySelectorAll("ul li")].map(({ textContent }) => textContent).join() === names, names, { timeout: 30_000 });
const firstRow = (where, text) => where.locator(".browser table.grid button.open-row").first().getByText(text, { exact: true }).waitFor();

async function add(page, name) {
  await page.getByLabel("Thing").fill(name);
  await page.getByRole("button", { name: "Add" }).click();
}

/** Puts a row by the console's dialog. */
async function put(where, name) {
  await where.getByRole("button", { name: "Put row" }).click();
  await where.getByRole("dialog").getByLabel(/^name/).fill(name);
  await where.getByRole("dialog").getByRole("button", { name: "Put row" }).click();
  await where.getByRole("dialog", { name: /^Row / }).waitFor();
  await where.locator("dialog[open]").press("Escape");
}

/** A person comes back to the page. */
const look = (page) => page.evaluate(() => (dispatchEvent(new Event("blur")), dispatchEvent(new Event("focus"))));

/** The program, once it has said where it serves. */
async function program(folder, ...args) {
  const child = spawn(process.execPath, ["node_modules/tabstore/dist/cli.js", "console", ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const address = await new Promise((resolve, reject) => {
    child.stdout.on("data", (data) => {
      printed += data;
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(printed)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.stderr.on("data", (data) => (printed += data));
    child.once("exit", () => reject(new Error(`the program ended: ${printed}`)));
  });
  return { address, stop: () => child.kill() };
}

/** Registers the tests. */
export async function consoleTests({ test, install, serveDev, serveFolder, run, browser, tarball }) {
  await test("W1: `npx tabstore console` serves the console, compressed, for this machine alone", async () => {
    const folder = install({ folder: "console", dev: {} }, tarball, {});
    const { address, stop } = await program(folder, "--port", "0");
    try {
      const size = async (encoding) =>
        Number((await fetch(address, { method: "HEAD", headers: { "accept-encoding": encoding } })).headers.get("content-length"));
      const [plain, gzip, br] = [await size("identity"), await size("gzip, br;q=0"), await size("gzip, br")];
      assert.ok(br < gzip && gzip < plain, `${br} < ${gzip} < ${plain}`);
      for (const name of ["none", "%2e%2e/package.json", "..%2fcli.js", "%zz", "assets/", "index.html%00"])
        assert.equal((await fetch(address + name)).status, 404, name);
      assert.equal((await fetch(address, { method: "POST" })).status, 405);
      const taken = spawn(process.execPath, ["node_modules/tabstore/dist/cli.js", "console", "--port", new URL(address).port], { cwd: folder });
      let said = "";
      taken.stderr.on("data", (data) => (said += data));
      assert.equal(await new Promise((resolve) => taken.once("close", resolve)), 1);
      assert.match(said, /is taken: choose another one with --port/);
      for (const port of ["x", "70000", "-1"])
        assert.throws(() => run(process.execPath, ["node_modules/tabstore/dist/cli.js", "console", `--port=${port}`], folder), /is no port/);

      const { context, errors } = await pages(browser);
      const page = await context.newPage();
      await page.goto(address);
      await page.getByRole("button", { name: "Open my instance" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("own");
      await page.getByRole("button", { name: "Open", exact: true }).click();
      await page.getByRole("heading", { name: "An empty instance" }).waitFor();
      assert.deepEqual(errors, []);
      await context.close();
    } finally {
      stop();
    }
  });

  await test("W1: the console works from any folder of any server, and without a network after the first visit", async () => {
    const folder = install({ folder: "console", dev: {} }, tarball, {});
    const server = await serveFolder(path.join(folder, "node_modules/tabstore"));
    const { context, errors } = await pages(browser);
    try {
      const page = await context.newPage();
      const address = `${server.address}dist/console/`;
      await page.goto(address);
      await page.evaluate(async () => {
        await navigator.serviceWorker.ready;
      });
      server.stop();
      server.cut();
      await page.goto(`${address}#/offline`);
      await page.reload();
      await page.getByRole("button", { name: "Create it" }).click();
      await page.getByRole("heading", { name: "An empty instance" }).waitFor();
      // What is loaded on first use, and a data set, are there too.
      await page.getByRole("navigation", { name: "Tables" }).getByRole("button", { name: "Import data" }).click();
      const dialog = page.getByRole("dialog");
      assert.equal(await dialog.getByRole("button", { name: /flights/ }).count(), 0, "a data set that is not shipped is not offered");
      await dialog.getByRole("button", { name: /stocks\.csv/ }).click();
      await dialog.getByRole("button", { name: /^Create table and import/ }).click();
      await page.getByText("Imported", { exact: true }).waitFor();
      // The page itself is asked of the network first.
      assert.deepEqual(
        errors.filter((text) => !text.includes("ERR_CONNECTION_REFUSED")),
        [],
      );
    } finally {
      await context.close();
      server.stop();
    }
  });

  await test("W1: a console that is open tells of a new version, and loads it when a person says so", async () => {
    const folder = install({ folder: "console-update", dev: {} }, tarball, {});
    const place = path.join(folder, "node_modules/tabstore/dist/console");
    const server = await serveFolder(place);
    const { context, errors } = await pages(browser);
    try {
      const page = await context.newPage();
      await page.goto(server.address);
      await page.evaluate(() => navigator.serviceWorker.ready);
      await page.reload();
      const told = page.getByText("A new version of the console is there");
      assert.equal(await told.count(), 0);
      const worker = path.join(place, "service-worker.js");
      writeFileSync(worker, readFileSync(worker, "utf8").replace(/VERSION = "[^"]*"/, 'VERSION = "another"'));
      const html = path.join(place, "index.html");
      writeFileSync(html, readFileSync(html, "utf8").replace("</head>", '<meta name="of" content="another version"></head>'));
      await page.evaluate(async () => (await navigator.serviceWorker.getRegistration()).update());
      await told.waitFor();
      await page.getByRole("button", { name: "Reload" }).click();
      await page.locator('meta[name="of"]').waitFor({ state: "attached" });
      await page.waitForFunction(async () => (await caches.keys()).every((name) => name.endsWith(" another")));
      assert.equal(await told.count(), 0);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
      server.stop();
    }
  });

  // At the gate one version stands for both.
  for (const one of tier === "full" || process.argv.length > 2 ? [app("8.3.8"), app("7.3.8", inline)] : [app("8.3.8")]) {
    await test(`W1: ${one.name}'s plugin: the app's rows in the console, live in two tabs, and a panel in the page`, async () => {
      const folder = install(one, tarball, one.files);
      const server = await serveDev(one, folder);
      const { context, errors } = await pages(browser);
      try {
        const missing = await fetch(`${server.address}__tabstore/none`);
        assert.equal(missing.status, 404);
        assert.match(server.printed(), /TabStore console: http:\/\/127\.0\.0\.1:\d+\/__tabstore\//);
        const app = await context.newPage();
        await app.goto(server.address);
        await add(app, "bread");
        await items(app, "bread");
        const tab = await context.newPage();
        await tab.goto(`${server.address}__tabstore#/shopping/thing`);
        await firstRow(tab, "bread");
        await put(tab, "apples");
        await items(app, "apples,bread");
        await add(app, "aa batteries");
        await look(tab);
        await firstRow(tab, "aa batteries");
        assert.equal(await tab.locator("meta[name=service-worker]").count(), 0);

        // The application is opened again while the console leads: with its own options.
        await app.goto("about:blank");
        await tab
          .locator(".instance-chip .tag.part")
          .getByText(/^leads/)
          .waitFor();
        await app.goto(server.address);
        await items(app, "aa batteries,apples,bread");

        await app.getByRole("button", { name: "TabStore" }).press("Enter");
        const panel = app.getByRole("dialog", { name: "TabStore: shopping" });
        const inside = app.frameLocator("tabstore-inspector iframe");
        await inside
          .getByRole("navigation", { name: "Tables" })
          .getByRole("button", { name: /^thing/ })
          .click();
        await firstRow(inside, "aa batteries");
        await put(inside, "a pear");
        await items(app, "a pear,aa batteries,apples,bread");
        // Escape in a dialog of the console has closed that alone.
        assert.equal(await panel.isVisible(), true);
        await inside.getByRole("button", { name: "Put row" }).focus();
        await app.keyboard.press("Escape");
        await panel.waitFor({ state: "hidden" });
        assert.equal(await app.evaluate(() => document.querySelector("tabstore-inspector").shadowRoot.activeElement?.textContent), "TabStore");
        await app.waitForFunction(() => document.querySelector("tabstore-inspector").shadowRoot.querySelector("iframe") === null);

        await app.setViewportSize({ width: 390, height: 844 });
        await app.getByRole("button", { name: "TabStore" }).click();
        assert.deepEqual(await panel.boundingBox(), { x: 0, y: 0, width: 390, height: 844 });
        await app.getByRole("button", { name: "Close" }).click();
        await panel.waitFor({ state: "hidden" });
        // Only a page of this origin sees the instances.
        await app.evaluate(() => Object.assign(document.querySelector("tabstore-inspector"), { src: "https://example.org/", open: true }));
        assert.equal(await app.locator("tabstore-inspector iframe").count(), 0);
        assert.match(errors.join("\n"), /^<tabstore-inspector>: src "https:\/\/example\.org\/" is of another origin[^\n]*$/);
      } finally {
        await context.close();
        server.stop();
      }

      writeFileSync(path.join(folder, "typed.ts"), TYPED);
      run(process.execPath, ["node_modules/typescript/bin/tsc", ...STRICT, "typed.ts"], folder);
      run(process.execPath, one.build, folder);
      const built = readdirSync(path.join(folder, "dist"), { recursive: true }).filter((name) => statSync(path.join(folder, "dist", name)).isFile());
      assert.ok(!existsSync(path.join(folder, "dist/__tabstore")));
      for (const name of built) assert.doesNotMatch(readFileSync(path.join(folder, "dist", name), "utf8"), /\/__tabstore\/|adoptedStyleSheets/, name);
    });
  }
}
