/** The entry for Node 20 and Deno: the engine runs in the calling thread. */

import { readFile } from "node:fs/promises";

import { folders } from "./files.js";
import { once, type Platform } from "./platform.js";

/** See {@link Platform}. */
export const platform: Platform = {
  wasm: () => readFile(new URL("./tabstore_bg.wasm", import.meta.url)),
  modules: {
    compaction: () => readFile(new URL("./tabstore_compaction.wasm", import.meta.url)),
    dense: () => readFile(new URL("./tabstore_dense.wasm", import.meta.url)),
    rules: () => readFile(new URL("./tabstore_rules.wasm", import.meta.url)),
    answers: () => readFile(new URL("./tabstore_answers.wasm", import.meta.url)),
    streams: () => readFile(new URL("./tabstore_streams.wasm", import.meta.url)),
    azure: () => readFile(new URL("./tabstore_azure.wasm", import.meta.url)),
    access: () => readFile(new URL("./tabstore_access.wasm", import.meta.url)),
    batches: () => readFile(new URL("./tabstore_batches.wasm", import.meta.url)),
    transactions: () => readFile(new URL("./tabstore_transactions.wasm", import.meta.url)),
    loads: () => readFile(new URL("./tabstore_loads.wasm", import.meta.url)),
    files: () => readFile(new URL("./tabstore_files.wasm", import.meta.url)),
    occasional: () => readFile(new URL("./tabstore_occasional.wasm", import.meta.url)),
  },
  worker: undefined,
  tabs: undefined,
  folders,
  thread: once(() => import("../host/thread.js")),
};
