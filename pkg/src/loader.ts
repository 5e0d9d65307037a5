/**
 * Finds and compiles the WebAssembly module. It keeps the compiled module, which takes tens of milliseconds to make. A
 * second instance, or a worker that replaces a failed one, starts from it.
 */

import { invalid, local } from "./errors.js";
import { LOAD_HELP } from "./host/port.js";
import type { WasmSource } from "./types.js";

/**
 * The module of an entry of the package.
 *
 * @internal
 */
export interface DefaultSource {
  (): WasmSource | Promise<WasmSource>;
}

let given: WasmSource | Promise<WasmSource> | undefined;
let compiled: { from: unknown; module: Promise<WebAssembly.Module> } | undefined;

/**
 * Sets the source of the WebAssembly module, for hosts where the package's own address does not work: an address, its
 * bytes, a `Response` (or a promise of one of these), or a compiled module. Call it before `open`. It loads nothing by
 * itself.
 *
 * @example
 * ```ts
 * import { init } from "tabstore";
 * import wasmUrl from "tabstore/tabstore_bg.wasm?url";   // as Vite gives an address
 *
 * init(wasmUrl);
 * ```
 */
export function init(source: WasmSource | Promise<WasmSource>): void {
  if (source === undefined || source === null) throw invalid("The argument 'source' of init is missing: give an address, bytes, a Response or a WebAssembly.Module.");
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

/**
 * The compiled module: from `source`, else from {@link init}, else from the package's own place.
 *
 * @internal
 */
export function loadModule(source: WasmSource | undefined, fallback: DefaultSource): Promise<WebAssembly.Module> {
  const from = source ?? given ?? fallback;
  const key = from instanceof URL ? from.href : from;
  if (compiled !== undefined && compiled.from === key) return compiled.module;
  const module = (async () => {
    try {
      return await compile(await (from === fallback ? fallback() : (from as WasmSource | Promise<WasmSource>)));
    } catch (error) {
      throw local("Unavailable", `The WebAssembly module of TabStore could not be loaded: ${error instanceof Error ? error.message : String(error)}. ${LOAD_HELP}`, { cause: error });
    }
  })();
  const entry = { from: key, module };
  compiled = entry;
  module.catch(() => {
    if (compiled === entry) compiled = undefined;
  });
  return module;
}
