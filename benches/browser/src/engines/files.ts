/** This package, with storage in files of the origin. */

import type { Engine } from "../engine.js";
import { tabstore } from "./tabstore.js";

/** Loads nothing more: opening does. */
export async function start(): Promise<Engine> {
  return tabstore(false, { storage: "files" });
}
