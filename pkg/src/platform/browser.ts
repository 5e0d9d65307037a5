/** The default entry. The package's files lie side by side, and bundlers that know `new URL(…, import.meta.url)` move them. */

import { once, type Platform } from "./platform.js";

/** See {@link Platform}. */
export const platform: Platform = {
  // These two must stand here literally, because bundlers look for them.
  wasm: () => new URL("./tabstore_bg.wasm", import.meta.url),
  get worker() {
    return typeof Worker === "undefined" ? undefined : () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  },
  thread: once(() => import("../host/thread.js")),
};
