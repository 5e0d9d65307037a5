/** The entry `tabstore/inline`: one file contains the worker and the WebAssembly module. */

import workerSource from "virtual:worker";
import wasm, { modules } from "virtual:wasm";
import * as thread from "../host/thread.js";
import type { DefaultSource, Platform } from "./platform.js";

/** An embedded module. It is compressed: base64 of the plain bytes would make every download a third larger. */
function embedded(base64: string): DefaultSource {
  return () => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
}

/** The part of `trustedTypes` that is used here; TypeScript does not know it. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): { createScriptURL(address: string): string };
}

let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined;

/**
 * The address, trusted if the page's content policy requires that. The policy is private to this code, so it accepts
 * every address.
 */
function trusted(address: string): string {
  try {
    policy ??= (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("tabstore", { createScriptURL: (own) => own });
  } catch {
    // The page does not allow it. A default policy of the page may accept the address. Otherwise the worker is refused
    // by name.
  }
  return policy?.createScriptURL(address) ?? address;
}

function startWorker(): Worker {
  const address = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  const worker = new Worker(trusted(address), { name: "tabstore" });
  // Some browsers read the address a little later.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return worker;
}

/** See {@link Platform}. */
export const platform: Platform = {
  wasm: embedded(wasm),
  modules: {
    compaction: embedded(modules.compaction),
    dense: embedded(modules.dense),
    rules: embedded(modules.rules),
    answers: embedded(modules.answers),
    streams: embedded(modules.streams),
    azure: embedded(modules.azure),
    tablestore: embedded(modules.tablestore),
    access: embedded(modules.access),
    batches: embedded(modules.batches),
    transactions: embedded(modules.transactions),
    loads: embedded(modules.loads),
    files: embedded(modules.files),
    occasional: embedded(modules.occasional),
    inspection: embedded(modules.inspection),
  },
  get worker() {
    return typeof Worker === "undefined" ? undefined : startWorker;
  },
  // A blob has another address in each tab, so it cannot be shared.
  tabs: undefined,
  thread: async () => thread,
};
