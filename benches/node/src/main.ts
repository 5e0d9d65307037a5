/** What `run.mjs` measures: the workloads of the browser, and a database of each kind in a folder. */

import { rmSync } from "node:fs";
import path from "node:path";

import type { Engine } from "../../browser/src/engine.js";
import { tabstore } from "../../browser/src/engines/tabstore.js";
import { sqlite } from "./sqlite.js";

export { rows as rowsFrom } from "../../browser/src/data.js";
export { WORKLOADS, WRITES } from "../../browser/src/workloads.js";

function inFiles(folder: string): Engine {
  // The library has no call that deletes an instance in files: its user deletes the folder.
  return { ...tabstore(false, { storage: "files", path: folder }), remove: async () => rmSync(folder, { recursive: true }) };
}

/** Both databases, each in a folder of its own below this one. */
export const engines = (place: string): Record<"tabstore" | "sqlite", Engine> => ({
  tabstore: inFiles(path.join(place, "tabstore")),
  sqlite: sqlite(path.join(place, "sqlite")),
});
