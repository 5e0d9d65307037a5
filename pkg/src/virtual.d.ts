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
  /** Its modules, the same way. */
  export const access: string;
  export const answers: string;
  export const streams: string;
  export const azure: string;
  export const batches: string;
  export const compaction: string;
  export const dense: string;
  export const files: string;
  export const loads: string;
  export const transactions: string;
  export const occasional: string;
  export const inspection: string;
  export const rules: string;
}
