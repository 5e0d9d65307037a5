/** The examples of README.md, word for word. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import type { OpenOptions } from "../src/index.js";
import { load, open, skip } from "./support/package.js";

type Run = (scope: Record<string, unknown>) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Run;

/** The code between ```js and ```, as functions that take what the package exports and what the text tells of. */
async function examples(): Promise<{ code: string; run: Run }[]> {
  const { transform } = (await import(pathToFileURL(path.resolve("node_modules/esbuild/lib/main.js")).href)) as typeof import("esbuild");
  const blocks = [...readFileSync("README.md", "utf8").matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);
  return Promise.all(blocks.map(async (code) => {
    const { code: plain } = await transform(`async function example() {\n${code.replace(/^import .*$/gm, "")}\n}`, { target: "es2022" });
    return { code, run: new AsyncFunction("scope", `with (scope) {\n${plain}\nawait example();\n}`) };
  }));
}

test("W3: the examples of the README do what they say", { skip }, async () => {
  const tabstore = await load();
  const all = await examples();
  assert.equal(all.length, 6);
  const db = await open();
  const tables: [string, [string, "STRING" | "INTEGER", true?][]][] = [
    ["reading", [["station", "STRING"], ["at", "INTEGER"]]], ["item", [["id", "INTEGER"]]], ["log", [["id", "INTEGER"]]], ["chat", [["room", "STRING"], ["id", "INTEGER", true]]], ["account", [["owner", "STRING"], ["kind", "STRING"]]],
  ];
  for (const [tableName, key] of tables) await db.createTable({ tableName, primaryKey: key.map(([name, type, autoIncrement]) => ({ name, type, autoIncrement })) });
  await db.putRow({ tableName: "item", primaryKey: { id: 7 }, attributes: { state: "free" } });
  await db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at: 5 }, attributes: { tempMax: 21.5 } });
  const shown: unknown[] = [];
  const scope = {
    ...tabstore, db, open: (name: string, options?: OpenOptions) => tabstore.open(name, { ...options, storage: "memory" }), console: { log: (...line: unknown[]) => shown.push(line) }, show: (row: unknown) => shown.push(row),
    readings: [{ station: "OSL", at: 1, tempMax: 3.5 }],
  };
  for (const { code, run } of all) {
    await run(scope).catch((error: unknown) => {
      throw new Error(`The example failed:\n${code}`, { cause: error });
    });
  }
  assert.equal(shown.length, 2);
  assert.deepEqual((await db.getRow({ tableName: "item", primaryKey: { id: 7 } })).row?.get("state"), "sold");
  assert.deepEqual((await db.getRow({ tableName: "account", primaryKey: { owner: "ann", kind: "savings" } })).row?.get("balance"), 10);
  await db.close();
});
