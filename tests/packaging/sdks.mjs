// The official SDKs with the tarball: `npx tabstore serve`, and the npm package `tablestore` in a page.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const filesOf = (name) =>
  Object.fromEntries(
    readdirSync(path.join(examples, name))
      .filter((file) => file !== "README.md")
      .map((file) => [file, readFileSync(path.join(examples, name, file), "utf8")]),
  );

/** The server, once it listens. */
async function server(folder) {
  const args = ["node_modules/tabstore/dist/cli.js", "serve", "--port", "0", "--azure-port", "0", "--console-port", "0"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  child.stderr.on("data", (data) => (printed += data));
  await new Promise((resolve, reject) => {
    child.stdout.on("data", (data) => {
      printed += data;
      if (printed.includes("The access key is")) resolve();
    });
    child.once("exit", () => reject(new Error(`the server ended: ${printed}`)));
  });
  const at = (name) => new RegExp(`${name} +(http:\\S+)`).exec(printed)[1];
  return { console: at("Console"), stop: () => new Promise((resolve) => (child.once("exit", resolve), child.kill("SIGTERM"))) };
}

/** Registers the tests. */
export async function sdkTests({ test, install, serveFolder, run, browser, tarball }) {
  await test("`npx tabstore serve` of the tarball serves, the console too, and stops", async () => {
    const folder = install({ folder: "console", dev: {} }, tarball, {});
    const { console: address, stop } = await server(folder);
    assert.match(await (await fetch(address)).text(), /<!doctype html>/i);
    assert.equal(await stop(), 0);
  });

  await test("R1, I6: the npm package tablestore, bundled by esbuild, works in a page on its database and on that of a service worker", async () => {
    const dev = { tablestore: "5.6.5", buffer: "6.0.3", jssha: "3.3.1", "spark-md5": "3.0.2", url: "0.11.4", esbuild: "0.28.2" };
    const page = '<!doctype html><meta charset="utf-8"><title>app</title><script type="module" src="main.js"></script>\n';
    const folder = install({ folder: "sdk-in-a-page", dev }, tarball, { ...filesOf("sdk-in-a-page"), "dist/index.html": page });
    assert.equal(run(process.execPath, ["build.mjs"], folder), "", "the bundler has nothing to say");
    const { address, stop } = await serveFolder(path.join(folder, "dist"));
    const context = await browser.newContext();
    try {
      const tab = await context.newPage();
      const errors = [];
      tab.on("pageerror", (error) => errors.push(String(error)));
      await tab.goto(address);
      await tab.waitForFunction(() => "inWorker" in globalThis).catch((error) => assert.fail(`${error.message} ${errors.join()}`));
      const cells = [
        ["tempMax", 12.8],
        ["text", "é€😀"],
      ];
      const { cells: found, wrong } = await tab.evaluate(() => inPage());
      assert.deepEqual(found, cells);
      assert.equal(wrong[0], 403);
      assert.match(wrong[1], /OTSAuthFailed/);
      assert.deepEqual(await tab.evaluate(() => inWorker()), cells);

      // The bundle that the package has among its samples, without anything of ours in the page.
      await tab.addScriptTag({ path: path.join(folder, "node_modules/tablestore/samples/browser/tablestore-js-sdk-4.0.9.min.js") });
      const old = await tab.evaluate(async () => {
        const { Client, Long } = window.TableStore;
        const client = new Client({ endpoint: location.origin, instancename: "worker", accessKeyId: "id", secretAccessKey: "secret" });
        const row = { tableName: "reading", primaryKey: [{ id: Long.fromNumber(1) }] };
        const call = (name, params) =>
          new Promise((resolve, reject) => client[name](params, (error, data) => (error ? reject(new Error(error.message)) : resolve(data))));
        const { table_names: names } = await call("listTable", {});
        return JSON.stringify([[...names], (await call("getRow", row)).row]);
      });
      // Its answers have other names than those of the version of today.
      for (const part of ["reading", "tempMax", "12.8", "é€😀"]) assert.ok(old.includes(part), old);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
      stop();
    }
  });
}
