/** The entry for Node 20 and Deno: the engine runs in the calling thread. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { local } from "../types/errors.js";
import { folders } from "./files.js";
import { once } from "../client/code.js";
import type { Platform } from "./platform.js";

/** Frameworks that bundle server code give a `URL` class of their own, or an address that only browsers can use. */
async function read(url: URL): Promise<Uint8Array> {
  const { href } = url;
  if (href.startsWith("file:")) return readFile(fileURLToPath(href));
  throw local(
    "Unavailable",
    "A framework has bundled TabStore for its server, without the package's files. Open a database in the browser: in an effect of a client" +
      " component. On the server, keep the package out of the bundle (in Next.js: serverExternalPackages).",
  );
}

/** See {@link Platform}. */
export const platform: Platform = {
  wasm: () => read(new URL("./tabstore_bg.wasm", import.meta.url)),
  modules: {
    compaction: () => read(new URL("./tabstore_compaction.wasm", import.meta.url)),
    dense: () => read(new URL("./tabstore_dense.wasm", import.meta.url)),
    rules: () => read(new URL("./tabstore_rules.wasm", import.meta.url)),
    answers: () => read(new URL("./tabstore_answers.wasm", import.meta.url)),
    streams: () => read(new URL("./tabstore_streams.wasm", import.meta.url)),
    azure: () => read(new URL("./tabstore_azure.wasm", import.meta.url)),
    tablestore: () => read(new URL("./tabstore_tablestore.wasm", import.meta.url)),
    access: () => read(new URL("./tabstore_access.wasm", import.meta.url)),
    batches: () => read(new URL("./tabstore_batches.wasm", import.meta.url)),
    transactions: () => read(new URL("./tabstore_transactions.wasm", import.meta.url)),
    loads: () => read(new URL("./tabstore_loads.wasm", import.meta.url)),
    files: () => read(new URL("./tabstore_files.wasm", import.meta.url)),
    occasional: () => read(new URL("./tabstore_occasional.wasm", import.meta.url)),
    inspection: () => read(new URL("./tabstore_inspection.wasm", import.meta.url)),
  },
  worker: undefined,
  tabs: undefined,
  folders,
  // The server is a file of its own, with this entry beside it: see serve/sessions.ts.
  opened: (db, session) => Object.defineProperty(db, Symbol.for("tabstore.session"), { value: session }),
  thread: once(() => import("../host/thread.js")),
};
