/** Requests that are refused for now, while a module is loaded. A process of its own: all engines of a thread share the modules. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { azure } from "../src/azure/index.js";
import { type Any, settle } from "./support/azure.js";
import { hasModules, load, open, skip as unbuilt } from "./support/package.js";

const skip = unbuilt || (!hasModules && "the build that is not optimised has no modules to wait for");

const file = (name: string): Uint8Array => readFileSync(path.resolve("dist", `tabstore_${name}.wasm`));
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("Z2: a refused change does not overtake a later one of the same entity", { skip }, async () => {
  let give = (): void => {};
  (await load()).init(file("bg"), { batches: new Promise((resolve) => (give = () => resolve(file("batches")))) });
  const db = await open({ memtableBytes: 1 << 20 });
  const t = await azure(db, "demo").createTable<Any>("abc");
  // What waits for the module: 36 requests of 4 MB, of which the last ones find no room and are refused, to be tried again.
  const ballast = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`t${i}`, "x".repeat(32_000)]));
  const works: Promise<string>[] = [];
  for (let i = 0; i < 36; i++) {
    works.push(
      settle(
        t.submitTransaction([
          ["upsert", { partitionKey: "p", rowKey: "0", v: i }],
          ...Array.from({ length: 8 }, (_, n) => ["upsert", { partitionKey: "p", rowKey: `b${n}`, ...ballast }] as const),
        ] as never),
      ),
    );
    await wait(0);
  }
  await wait(700);
  give();
  await works[0];
  const last = settle(t.upsertEntity({ partitionKey: "p", rowKey: "0", v: 1000 }));
  const answers = await Promise.all([...works, last]);
  const v = (await t.getEntity("p", "0"))["v"];
  await db.close();
  // Refused ones may have been given up, because a later one was done.
  assert.ok(
    answers.every((answer) => answer === "ok" || answer === "OTSServerBusy"),
    answers.join(),
  );
  assert.equal(answers.at(-1), "ok");
  assert.equal(v, 1000);
});
