/** What Vite gives for an import of a file's address, as its own `vite/client` declares it. */

declare module "*.wasm?url" {
  const address: string;
  export default address;
}
