/** The type of an import of a file's address, as in Vite's own `vite/client`. */

declare module "*.wasm?url" {
  const address: string;
  export default address;
}
