/** Hosts without some feature, by each entry of the built package. The error names the feature and a remedy. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, test } from "node:test";
import { pathToFileURL } from "node:url";

import { code, hasModules, type Package, skip } from "./support/package.js";
import { checked } from "./support/tab.js";

const ENTRIES = ["index.js", "inline.js", "node.js"];
const file = (name: string): Uint8Array => readFileSync(`dist/tabstore_${name}.wasm`);
const options = { storage: "memory" } as const;

async function load(entry: string): Promise<Package> {
  const entered = (await import(pathToFileURL(path.resolve("dist", entry)).href)) as Package;
  // The default entry fetches its files, which Node does not do.
  if (entry === "index.js") entered.init(file("bg"), hasModules ? { occasional: file("occasional") } : {});
  return entered;
}

const crypto = Object.getOwnPropertyDescriptor(globalThis, "crypto")!;
afterEach(() => {
  Object.defineProperty(globalThis, "crypto", crypto);
  Reflect.deleteProperty(globalThis, "Worker");
});

for (const entry of ENTRIES) {
  test(`without crypto, open says so and what to do (${entry})`, { skip }, async () => {
    const { open, listInstances } = await load(entry);
    for (const instead of [undefined, {}]) {
      Object.defineProperty(globalThis, "crypto", { value: instead, configurable: true });
      await assert.rejects(open("demo", options), code("Unavailable", /no crypto\.getRandomValues.*globalThis\.crypto/));
      // Code that needs no randomness asks for none: here the storage is missing.
      await assert.rejects(listInstances(), code("Unavailable", /IndexedDB/));
    }
    Object.defineProperty(globalThis, "crypto", crypto);
    await (await open("demo", options)).close();
  });

  test(`importing it for server rendering reads no global but the codecs of text, and makes none (${entry})`, { skip }, () => {
    const file = pathToFileURL(path.resolve("dist", entry)).href;
    const { stdout, stderr } = spawnSync(process.execPath, ["test/support/globals.mjs", file], { encoding: "utf8" });
    assert.notEqual(stdout, "", stderr.slice(0, 1000));
    assert.deepEqual(JSON.parse(stdout), { read: ["TextDecoder", "TextEncoder"], made: [] });
  });

  test(`where there is no IndexedDB, open says so at once, and what to do (${entry})`, { skip }, async () => {
    const { open } = await load(entry);
    await assert.rejects(open("demo"), (error: unknown) => {
      assert.match(String((error as { hint?: string }).hint), /storage: "memory".*In Node and Deno, storage: "files" and a path/);
      return code("Unavailable", /no IndexedDB/)(error);
    });
  });

  test(`without Worker, worker: true is refused by name, and unless it is given the engine runs in this thread (${entry})`, { skip }, async () => {
    assert.equal("Worker" in globalThis, false);
    const { open } = await load(entry);
    await assert.rejects(
      open("demo", { ...options, worker: true }),
      code("Unavailable", /'worker' is true, but this host has no workers: open with worker: false/),
    );
    const db = await open("demo", options);
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    assert.deepEqual(await db.listTable(), ["t"]);
    await db.close();
  });
}

test("workers of Firefox run the engine in their own thread unless they are asked not to; all others have workers for it", () => {
  const agents = {
    Firefox: "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0",
    Chromium: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
    Safari: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15",
  };
  const navigator = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  const defaults = (): string[] =>
    Object.entries(agents).flatMap(([name, userAgent]) => {
      Object.defineProperty(globalThis, "navigator", { value: { userAgent }, configurable: true });
      assert.deepEqual(
        [true, false].map((worker) => checked({ worker }).worker),
        [true, false],
      );
      return checked().worker ? [name] : [];
    });
  try {
    assert.deepEqual(defaults(), ["Firefox", "Chromium", "Safari"]);
    Object.defineProperty(globalThis, "WorkerGlobalScope", { value: class {}, configurable: true });
    assert.deepEqual(defaults(), ["Chromium", "Safari"]);
  } finally {
    Reflect.deleteProperty(globalThis, "WorkerGlobalScope");
    if (navigator === undefined) Reflect.deleteProperty(globalThis, "navigator");
    else Object.defineProperty(globalThis, "navigator", navigator);
  }
});
