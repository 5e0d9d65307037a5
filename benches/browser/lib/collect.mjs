// Collection of garbage on demand, in Node.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Adds `gc()` to the global object, as the browser's flag does. */
export function exposeGc() {
  setFlagsFromString("--expose-gc");
  globalThis.gc = runInNewContext("gc");
}
