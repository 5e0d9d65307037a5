/**
 * Finds and compiles the WebAssembly code: the core, which every engine needs, and the modules that it needs later. It
 * keeps what is compiled: the core takes tens of milliseconds to make. A second instance, or a worker that replaces a
 * failed one, starts from it.
 */

import { LOAD_HELP, OFFLINE_HELP } from "../client/code.js";
import { checkArguments } from "../codec/check.js";
import { invalid, local, TabStoreError } from "../types/errors.js";
import type { ModuleName, ModuleSource } from "../host/host.js";
import { platform } from "./browser.js";
import type { DefaultSource } from "./platform.js";
import type { WasmModules, WasmSource } from "../types/rows.js";

/** The names of the modules. */
const MODULES: ReadonlySet<string> = new Set(Object.keys(platform.modules));

let given: WasmSource | Promise<WasmSource> | undefined;
let givenModules: WasmModules = {};
/** The code that is compiled or being compiled. A response can be read only once, and its engines are many. */
const compiled = new Map<ModuleName | "core", { readonly from: unknown; readonly module: Promise<WebAssembly.Module> }>();

/** Whether modules are files of their own. In other builds all code is in one. */
export const isSplit = typeof TABSTORE_SPLIT === "undefined" || TABSTORE_SPLIT;

/** A module that does not come within this time (ms) has failed: calls wait for it. */
const MOST_WAIT = 30_000;

/**
 * Sets the source of the WebAssembly code, for hosts where the package's own address does not work: an address, its
 * bytes, a `Response` (or a promise of one of these), or a compiled module. Call it before `open`. It loads nothing by
 * itself.
 *
 * `modules` does the same for the code that is loaded on first use: `compaction`, `dense` (instances of the kind
 * `capacity`), `rules` (value transfer rules of filters), `answers`
 * (calls from other tabs), `streams`, `azure` (the Azure Table service), `tablestore` (the wire protocol of Table Store), `access` (signatures of requests to it, and policies),
 * `batches` (its transactions), `transactions` (local ones), `loads` (many sorted rows at once), `files` (storage in files), `inspection` (a look inside the store) and `occasional`. The last one has storage in memory, `salvage`,
 * the functions on instances, `metrics`, `compact`, changes of tables and indexes, consumed units, storage, split points, access keys
 * and missing data. Those that are left out come from the package's own address. They must be of the same version as the
 * core.
 *
 * @example
 * ```ts
 * import { init } from "tabstore";
 * import wasmUrl from "tabstore/tabstore_bg.wasm?url";   // as Vite gives an address
 *
 * init(wasmUrl);
 * ```
 */
export function init(source: WasmSource | Promise<WasmSource>, modules: WasmModules = {}): void {
  if (source === undefined || source === null)
    throw invalid("The argument 'source' of init is missing: give an address, bytes, a Response or a WebAssembly.Module.");
  givenModules = checkArguments(modules, MODULES, "init");
  given = source;
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source as BufferSource);
  const response = typeof Response !== "undefined" && source instanceof Response ? source : await fetch(source as string | URL);
  if (!response.ok) throw new Error(`${response.url || String(source)} answered with status ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  // Many servers do not know the type of .wasm files, and streaming refuses such responses.
  if (type.startsWith("application/wasm") && typeof WebAssembly.compileStreaming === "function") return WebAssembly.compileStreaming(response);
  if (type.startsWith("text/html")) throw new Error(`${response.url || String(source)} is a web page, not a WebAssembly module`);
  return WebAssembly.compile(await response.arrayBuffer());
}

async function compileFrom(source: DefaultSource, what: string): Promise<WebAssembly.Module> {
  try {
    return await compile(await source());
  } catch (error) {
    if (error instanceof TabStoreError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    // So `fetch` tells that no answer came. A missing file has a status.
    throw local(
      "Unavailable",
      error instanceof TypeError ? `${what} could not be downloaded: ${text}. ${OFFLINE_HELP}` : `${what} could not be loaded: ${text}. ${LOAD_HELP}`,
      { cause: error },
    );
  }
}

/** Compiles code, unless it was compiled from this source before. A failure is forgotten: the network may work the next time. */
function compileOnce(
  name: ModuleName | "core",
  from: WasmSource | Promise<WasmSource> | DefaultSource,
  make: (source: DefaultSource) => Promise<WebAssembly.Module>,
): Promise<WebAssembly.Module> {
  const key = from instanceof URL ? from.href : from;
  const known = compiled.get(name);
  if (known !== undefined && known.from === key) return known.module;
  const module = make(typeof from === "function" ? (from as DefaultSource) : () => from);
  const entry = { from: key, module };
  compiled.set(name, entry);
  module.catch(() => {
    if (compiled.get(name) === entry) compiled.delete(name);
  });
  return module;
}

/** The same source, with an end to its patience. */
const inTime =
  (source: DefaultSource): DefaultSource =>
  () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`it did not come within ${MOST_WAIT / 1000} s`)), MOST_WAIT);
      void Promise.resolve()
        .then(source)
        .then(compile)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });

/**
 * The compiled module: from `source`, else from {@link init}, else from the package's own place.
 *
 * @internal
 */
export function loadModule(source: WasmSource | undefined, fallback: DefaultSource): Promise<WebAssembly.Module> {
  return compileOnce("core", source ?? given ?? fallback, (from) => compileFrom(from, "The WebAssembly module of TabStore"));
}

/**
 * Where modules come from: {@link init}, else the package's own place.
 *
 * @internal
 */
export function moduleSource(fallback: Readonly<Record<ModuleName, DefaultSource>>): ModuleSource {
  return (name) => compileOnce(name, givenModules[name] ?? fallback[name], (from) => compileFrom(inTime(from), `The module '${name}' of TabStore`));
}
