/** The entry for Node 20 and Deno: the engine runs in the calling thread. */

import { readFile } from "node:fs/promises";

import { once, type Platform } from "./platform.js";

/** See {@link Platform}. */
export const platform: Platform = {
  wasm: () => readFile(new URL("./tabstore_bg.wasm", import.meta.url)),
  worker: undefined,
  thread: once(() => import("../host/thread.js")),
};
