/** The default entry. The package's files lie side by side, and bundlers that know `new URL(…, import.meta.url)` move them. */

import { loadCode, once } from "../client/code.js";
import type { Platform } from "./platform.js";

/** See {@link Platform}. */
export const platform: Platform = {
  // These must stand here literally, because bundlers look for them.
  wasm: () => new URL("./tabstore_bg.wasm", import.meta.url),
  modules: {
    compaction: () => new URL("./tabstore_compaction.wasm", import.meta.url),
    dense: () => new URL("./tabstore_dense.wasm", import.meta.url),
    rules: () => new URL("./tabstore_rules.wasm", import.meta.url),
    answers: () => new URL("./tabstore_answers.wasm", import.meta.url),
    streams: () => new URL("./tabstore_streams.wasm", import.meta.url),
    azure: () => new URL("./tabstore_azure.wasm", import.meta.url),
    tablestore: () => new URL("./tabstore_tablestore.wasm", import.meta.url),
    access: () => new URL("./tabstore_access.wasm", import.meta.url),
    batches: () => new URL("./tabstore_batches.wasm", import.meta.url),
    transactions: () => new URL("./tabstore_transactions.wasm", import.meta.url),
    loads: () => new URL("./tabstore_loads.wasm", import.meta.url),
    files: () => new URL("./tabstore_files.wasm", import.meta.url),
    occasional: () => new URL("./tabstore_occasional.wasm", import.meta.url),
    inspection: () => new URL("./tabstore_inspection.wasm", import.meta.url),
  },
  get worker() {
    return typeof Worker === "undefined" ? undefined : () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  },
  get tabs() {
    return typeof SharedWorker === "undefined"
      ? undefined
      : () => new SharedWorker(new URL("./tabs.js", import.meta.url), { type: "module", name: "tabstore" });
  },
  thread: once(() => loadCode(import("../host/thread.js"))),
};
