/** The build puts these into the inline entry. */

declare module "virtual:worker" {
  /** The source of the worker, as a classic script. */
  const source: string;
  export default source;
}

declare module "virtual:wasm" {
  /** The WebAssembly module: gzip, then base64. */
  const base64: string;
  export default base64;
}
