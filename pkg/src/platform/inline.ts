/** The entry `tabstore/inline`: worker and WebAssembly module are inside the one file. */

import workerSource from "virtual:worker";
import wasmBase64 from "virtual:wasm";
import * as thread from "../host/thread.js";
import type { Platform } from "./platform.js";

/** The module is embedded compressed: base64 of the plain bytes would be a third larger for everybody who downloads it. */
function embedded(): Promise<BufferSource> {
  const bytes = Uint8Array.from(atob(wasmBase64), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function startWorker(): Worker {
  const address = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  const worker = new Worker(address, { name: "tabstore" });
  // Some browsers read the address a little later than they are told it.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return worker;
}

/** See {@link Platform}. */
export const platform: Platform = {
  wasm: embedded,
  get worker() {
    return typeof Worker === "undefined" ? undefined : startWorker;
  },
  thread: async () => thread,
};
