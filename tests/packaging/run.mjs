// Packs the package, installs the tarball into empty apps, and runs the readme's example in each: `node run.mjs [names]`.
//
// The apps live in target/packaging. The packages that they download are kept there between runs.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { chromium } from "playwright-core";
import { publint } from "publint";

import { report, tier } from "../report.mjs";
import { APPS, WRONG_ENTRY } from "./apps.mjs";
import { consoleTests } from "./console.mjs";
import { FRAMEWORKS } from "./frameworks.mjs";
import { edits, REACT } from "./strict-mode.mjs";
import { EXTRAS, EXTRAS_EXPECTED, MAIN, readmeExample } from "./programs.mjs";
import { sdkTests } from "./sdks.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = path.join(root, "target/packaging");
const pkg = path.join(root, "pkg");
const wanted = process.argv.slice(2);
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

/** Runs a command to its end; fails with what it printed. */
function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

/** The tarball that `npm publish` would send. */
function pack() {
  mkdirSync(work, { recursive: true });
  if (!existsSync(path.join(pkg, "dist/index.js"))) throw new Error("pkg/dist is empty: run `cargo xtask build` first");
  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", work], pkg));
  return { tarball: path.join(work, filename), files: files.map((file) => file.path) };
}

/** An app's folder with its files, its own packages and the tarball in it. */
function install(app, tarball, files) {
  const folder = path.join(work, app.folder);
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (name !== "node_modules" && name !== "have.json") rmSync(path.join(folder, name), { recursive: true });
  rmSync(path.join(folder, "node_modules/.vite"), { recursive: true, force: true });
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  const packages = Object.entries(app.dev).map(([name, version]) => `${name}@${version}`);
  const have = path.join(folder, "have.json");
  const want = JSON.stringify(packages);
  const flags = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--prefer-offline", "--silent"];
  if (packages.length > 0 && (!existsSync(have) || readFileSync(have, "utf8") !== want)) {
    rmSync(path.join(folder, "node_modules"), { recursive: true, force: true });
    run("npm", ["install", ...flags, ...packages], folder);
    writeFileSync(have, want);
  }
  const target = path.join(folder, "node_modules/tabstore");
  rmSync(target, { recursive: true, force: true });
  if (packages.length === 0) {
    run("npm", ["install", ...flags, tarball], folder);
  } else {
    // Unpacked by hand: npm would look at all the other packages again, and remove those that no manifest names.
    mkdirSync(target, { recursive: true });
    run("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"], folder);
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/** Serves a folder; gives its address and how to stop. */
async function serveFolder(folder) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
    const file = path.join(folder, name.endsWith("/") ? `${name}index.html` : name);
    if (!file.startsWith(folder) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not here");
      return;
    }
    response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close(), cut: () => server.closeAllConnections() };
}

/** A port that is free. */
async function freePort() {
  const server = http.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a bundler's own server. */
async function serveDev(app, folder) {
  const port = await freePort();
  const child = spawn(process.execPath, [...app.serve, String(port)], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  child.stderr.on("data", (data) => (printed += data));
  const address = `http://127.0.0.1:${port}/`;
  for (let tries = 0; tries < 150; tries++) {
    if (child.exitCode !== null) break;
    if (
      await fetch(address).then(
        (response) => response.ok,
        () => false,
      )
    )
      return { address, printed: () => printed, stop: () => child.kill() };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  child.kill();
  throw new Error(`${app.name} did not start:\n${printed}`);
}

/** Builds if needed, and serves. */
async function serve(app, folder) {
  if (app.build !== undefined) {
    const [tool, ...args] = app.build;
    const printed = app.native ? run(path.join(folder, tool), args, folder) : run(process.execPath, [tool, ...args], folder);
    assert.match(printed.trim(), /^(webpack compiled successfully)?$/, "the bundler has something to say");
  }
  return app.serve === undefined ? serveFolder(path.join(folder, app.out)) : serveDev(app, folder);
}

/** The page's report once it is done. Vite's server may reload it once, when it has found the packages it needs. */
async function pageReport(page) {
  await page.waitForFunction(() => window.report?.done, undefined, { timeout: 60_000 });
  return page.evaluate(() => window.report);
}

function checkExample(printed) {
  assert.equal(printed.length, 1);
  const [[key, tempMax, note]] = printed;
  assert.deepEqual(key, { station: "SEA", at: 1 });
  assert.equal(tempMax, 12.8);
  assert.equal(note.length, 1);
  assert.equal(note[0].value, "fog");
  assert.ok(Math.abs(note[0].version - Date.now()) < 600_000);
}

let passed = 0;
let failed = 0;

/** One test. */
async function test(name, body) {
  if (wanted.length > 0 && !wanted.some((one) => name.toLowerCase().includes(one.toLowerCase()))) return;
  const started = performance.now();
  try {
    await body();
    passed += 1;
    report({ name, event: "ok", exec_time: (performance.now() - started) / 1000 });
    console.log(`ok    ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    report({ name, event: "failed", exec_time: (performance.now() - started) / 1000 });
    console.log(`FAIL  ${name}\n${String(error?.stack ?? error).replace(/^/gm, "      ")}`);
  }
}

const { tarball, files } = pack();
const example = readmeExample(path.join(pkg, "README.md"));
const programs = { main: MAIN, example, extras: EXTRAS };
const executablePath = process.env.CHROME ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: FLAGS });

await test("the tarball holds what the package promises, and nothing else", () => {
  for (const name of [
    "dist/index.js",
    "dist/worker.js",
    "dist/tabs.js",
    "dist/tabstore_bg.wasm",
    "dist/inline.js",
    "dist/node.js",
    "dist/timeline.js",
    "dist/cloud.js",
    "dist/cloud-more.js",
    "dist/cloud-files.js",
    "dist/remote.js",
    "dist/sync.js",
    "dist/sync-both.js",
    "dist/shell.js",
    "dist/cli.js",
    "dist/serve.js",
    "dist/tablestore.js",
    "dist/vite.js",
    "dist/inspector.js",
    "dist/console/index.html",
    "dist/console/service-worker.js",
    "dist/types/index.d.ts",
    "dist/types/timeline/index.d.ts",
    "dist/types/cloud/index.d.ts",
    "dist/types/tablestore/index.d.ts",
    "dist/types/remote/index.d.ts",
    "dist/types/sync/index.d.ts",
    "dist/types/shell/index.d.ts",
    "README.md",
    "CHANGELOG.md",
    "docs/rows.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "package.json",
  ]) {
    assert.ok(files.includes(name), `${name} is missing`);
  }
  for (const name of files) assert.match(name, /^(dist\/|docs\/|README\.md$|CHANGELOG\.md$|LICENSE-|package\.json$)/);
  for (const name of files.filter((file) => /\.(js|d\.ts)$/.test(file))) {
    assert.doesNotMatch(readFileSync(path.join(pkg, name), "utf8"), new RegExp(root.replace(/[/]/g, "\\/")), `${name} names a folder of this machine`);
  }
});

// An ES module has no form for `require` of old TypeScript, and old resolution knows no entries but the first.
const EXPECTED = new Set(["CJSResolvesToESM in node16-cjs", "NoResolution in node10"]);

await test("publint and arethetypeswrong find nothing in the tarball", async () => {
  const bytes = readFileSync(tarball);
  const { messages } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true });
  assert.deepEqual(messages, []);
  const { types, problems } = await checkPackage(createPackageFromTarballData(bytes));
  assert.equal(types.kind, "included");
  assert.deepEqual(
    problems.filter(({ kind, resolutionKind }) => !EXPECTED.has(`${kind} in ${resolutionKind}`)),
    [],
  );
});

await test("Node: the readme's example runs in memory, and importing does nothing", () => {
  const folder = install({ folder: "node", dev: {} }, tarball, {
    "example.mjs": example.replace('open("demo")', 'open("demo", { storage: "memory" })'),
    "refused.mjs": 'import { open } from "tabstore"; await open("demo").catch((error) => console.log(error.code, error.message));\n',
    "inline.mjs":
      'import { open } from "tabstore/inline"; const db = await open("demo", { storage: "memory" }); console.log(db.persistence); await db.close();\n',
    "import.mjs":
      'const before = Reflect.ownKeys(globalThis).length; await import("tabstore"); await import("tabstore/inline"); await import("tabstore/timeline"); await import("tabstore/sync"); await import("tabstore/tablestore"); await import("tabstore/shell"); await import("tabstore/inspector"); await import("tabstore/vite"); console.log(Reflect.ownKeys(globalThis).length - before);\n',
  });
  assert.match(run(process.execPath, ["example.mjs"], folder), /^\{ station: 'SEA', at: 1 \} 12\.8 \[ \{ value: 'fog', version: \d+ \} \]\n$/);
  assert.match(run(process.execPath, ["refused.mjs"], folder), /^Unavailable .*IndexedDB/);
  assert.equal(run(process.execPath, ["inline.mjs"], folder), "memory\n");
  assert.equal(run(process.execPath, ["import.mjs"], folder), "0\n");
  const lines = [`create -t t --pk '[{"c":"id","t":"string"}]'`, "list"].flatMap((line) => ["-e", line]);
  assert.match(run("npx", ["--no-install", "tabstore", ...lines], folder), /^Table t is created\.\ntable\n-----\nt\n1 row, /);
});

for (const [name, version] of [
  // The older one takes thrice as long. What it understands the other one does too.
  ...(tier === "full" ? [["TypeScript 5", "5.9.3"]] : []),
  ["TypeScript 7", "7.0.2"],
]) {
  await test(`${name}: the readme's example has types, in a browser and in Node`, () => {
    const chat =
      'import { timelines } from "tabstore/timeline";\nconst rooms = timelines(db).createTimelineStore<{ text: string }>({ tableName: "room", identifier: [{ name: "room", type: "STRING" }] });\n' +
      "// @ts-expect-error a text is no number\nawait rooms.createTimelineQueue({ room: 'a' }).store({ text: 5 });\n";
    const source = (entry) =>
      `${example.replace('"tabstore"', `"${entry}"`)}\n// @ts-expect-error a table's name is a text\nawait db.describeTable(5);\n${chat}`;
    const config = (module, moduleResolution, lib, types) =>
      JSON.stringify({
        compilerOptions: {
          module,
          moduleResolution,
          target: "ES2022",
          lib: ["ES2022", ...lib],
          types,
          strict: true,
          noEmit: true,
          exactOptionalPropertyTypes: true,
        },
        files: ["example.ts", "inline.ts"],
      });
    const folder = install({ folder: name.toLowerCase().replace(" ", "-"), dev: { typescript: version, "@types/node": "20.19.24" } }, tarball, {
      "example.ts": source("tabstore"),
      "inline.ts": source("tabstore/inline"),
      "bundler.json": config("ESNext", "Bundler", ["DOM"], []),
      "browser.json": config("NodeNext", "NodeNext", ["DOM"], []),
      "node.json": config("NodeNext", "NodeNext", [], ["node"]),
    });
    for (const project of ["bundler.json", "browser.json", "node.json"])
      run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", project], folder);
  });
}

for (const app of APPS.filter(({ late = false }) => tier === "full" || !late)) {
  await test(app.name, async () => {
    const folder = install(app, tarball, app.files(programs));
    const server = await serve(app, folder);
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(String(error)));
      // Twice: the rows of the first visit are still there, and the example still runs.
      for (const visit of ["first", "second"]) {
        await page.goto(server.address);
        const { printed, extras, error } = await pageReport(page);
        assert.equal(error, undefined, `${visit} visit: ${error} ${errors.join()}`);
        checkExample(printed);
        assert.deepEqual(extras, EXTRAS_EXPECTED);
      }
    } finally {
      await context.close();
      server.stop();
    }
  });
}

await test(WRONG_ENTRY.name, async () => {
  const folder = install(WRONG_ENTRY, tarball, WRONG_ENTRY.files(programs));
  const server = await serve(WRONG_ENTRY, folder);
  const page = await browser.newPage();
  try {
    await page.goto(server.address);
    const { error } = await pageReport(page);
    assert.match(error, /^TabStoreError: .*could not be loaded.*import 'tabstore\/inline'/);
  } finally {
    await page.close();
    server.stop();
  }
});

await test(REACT.name, async () => {
  const folder = install(REACT, tarball, REACT.files());
  const server = await serve(REACT, folder);
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(server.address);
    const shown = async (text) => {
      await page.waitForFunction((text) => document.querySelector("#seen")?.textContent.startsWith(text) || trouble.length > 0, text, { timeout: 60_000 });
      assert.deepEqual(await page.evaluate(() => trouble), []);
      assert.equal(page.workers().length, 1, `engines after '${text}'`);
    };
    await shown("component 0, store 0, ");
    // Another page would have begun anew.
    await page.evaluate(() => (globalThis.begun = true));
    const session = await context.newCDPSession(page);
    const memory = async () => {
      await session.send("HeapProfiler.collectGarbage");
      const { usedSize } = await session.send("Runtime.getHeapUsage");
      return usedSize + (await page.evaluate(async () => (await engine.metrics()).wasmMemoryBytes));
    };
    let before;
    let count = 0;
    for (const { file, text, shows } of edits(20)) {
      writeFileSync(path.join(folder, file), text);
      await shown(shows);
      count += 1;
      if (count === 4) before = await memory();
    }
    assert.equal(await page.evaluate(() => begun), true, "no edit has reloaded the page");
    const counted = await page.evaluate(async () => (await engine.getRow({ tableName: "t", primaryKey: { id: 1 } })).row.get("mounts"));
    const mounts = await page.evaluate(() => mounts);
    assert.equal(counted, mounts, "each mount has counted once");
    await page.evaluate(() => engine.updateRow({ tableName: "t", primaryKey: { id: 1 }, put: { mounts: -1 } }));
    await page.waitForFunction(() => document.querySelector("#seen").textContent.endsWith(", mounts -1"));
    for (const [id, title] of [
      [1, "a"],
      [2, "b"],
      [3, "c"],
    ])
      await page.evaluate(([id, title]) => notes.note.put({ id, title, at: new Date(id) }), [id, title]);
    await page.waitForFunction(() => document.querySelector("#notes").textContent === "c b; first: a; 3");
    await page.evaluate(() => notes.note.update(1, { title: "d", at: new Date(9) }));
    await page.waitForFunction(() => document.querySelector("#notes").textContent === "d c; first: d; 3");
    const more = (await memory()) - before;
    assert.ok(more < 4 << 20, `${more} bytes more after 16 edits`);
    console.log(`      ${mounts} mounts; the page's heap and the engine's memory grew by ${Math.round(more / 1024)} KiB in 16 edits`);
  } finally {
    await context.close();
    server.stop();
  }
});

await consoleTests({ test, install, serveDev, serveFolder, run, browser, tarball });
await sdkTests({ test, install, serveFolder, run, browser, tarball });

// At the gate React's own test above stands for them.
for (const app of tier === "full" ? FRAMEWORKS : []) {
  await test(app.name, async () => {
    const files = app.files();
    const folder = install(app, tarball, files);
    const server = await serve(app, folder);
    const context = await browser.newContext();
    try {
      const [page, other] = [await context.newPage(), await context.newPage()];
      const errors = [];
      for (const one of [page, other]) one.on("pageerror", (error) => errors.push(String(error)));
      await page.goto(server.address);
      const shows = (where, heading, count, titles) =>
        where.waitForFunction(
          ([heading, count, titles]) =>
            document.querySelector("h1")?.textContent === heading &&
            document.querySelector("p").textContent === `${count} in all` &&
            [...document.querySelectorAll("li")].map(({ textContent }) => textContent).join() === titles,
          [heading, count, titles],
          { timeout: 30_000 },
        );
      const add = async (where, title) => {
        await where.getByLabel("Title").fill(title);
        await where.getByRole("button", { name: "Add" }).click();
      };
      await shows(page, "Tasks", 0, "");
      await add(page, "one");
      await shows(page, "Tasks", 1, "one");
      await other.goto(server.address);
      await add(other, "two");
      for (const one of [page, other]) await shows(one, "Tasks", 2, "two,one");
      writeFileSync(path.join(folder, app.component), files[app.component].replace("Tasks", "My tasks"));
      for (const one of [page, other]) await shows(one, "My tasks", 2, "two,one");
      assert.equal(page.workers().length, 1, "an edit of the component starts no engine");
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
      server.stop();
    }
  });
}

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
