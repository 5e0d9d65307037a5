/** The build puts these into the inline entry. The first one is in all entries. */

/** Whether modules of the engine are files of their own. */
declare const TABSTORE_SPLIT: boolean;

declare module "virtual:worker" {
  /** The source of the worker, as a classic script. */
  const source: string;
  export default source;
}

declare module "virtual:wasm" {
  /** The core of the engine: gzip, then base64. */
  const core: string;
  export default core;
  /** Its modules, the same way. A build that is not optimised has none. */
  export const modules: Readonly<Record<keyof import("./types/rows.js").WasmModules, string>>;
}
