/** The built package, for tests on the real engine. They are skipped where it has not been built. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import type { Database } from "../../src/index.js";
import type { OpenOptions } from "../../src/types/rows.js";

/** The entry for Node. */
export const entry = path.resolve("dist/node.js");
/** Why these tests are skipped, if so. */
export const skip = !existsSync(entry) && "the package has not been built";

/** Whether everything runs: CONTRIBUTING says what each tier has. */
export const isFull = process.env["TEST_TIER"] === "full";

/** How often a test does what it repeats: `usual` times where everything runs, else `few` times. */
export const times = (usual: number, few: number): number => (isFull ? usual : few);

/** Whether the engine is in several files. Builds that are not optimised (`--dev`) have it in one. */
export const hasModules = existsSync(path.resolve("dist/tabstore_occasional.wasm"));

/** The exports of the package. */
export type Package = typeof import("../../src/index.js");

/** Loads the package. */
export const load = (): Promise<Package> => import(pathToFileURL(entry).href) as Promise<Package>;

/** Opens an instance in memory. */
export async function open(options: OpenOptions = {}): Promise<Database> {
  return (await load()).open("demo", { storage: "memory", ...options });
}

/** Whether an error is the package's, with this code and such a message. */
export const code =
  (wanted: string, message: RegExp = /./) =>
  (error: unknown): boolean => {
    const { name, code: found, message: text } = error as { name: string; code: string; message: string };
    assert.equal(found, wanted, text);
    assert.match(text, message);
    assert.equal(name, "TabStoreError");
    return true;
  };

/** A small generator, so that a failure can be seen again. */
export function random(seed: number): (below: number) => number {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 4294967296) * below);
  };
}
