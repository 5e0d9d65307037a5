/** Writes into the built page what it may load: itself, and nothing from anywhere else. */

import type { Plugin } from "vite";

const POLICY = [
  "default-src 'none'",
  // The engine is WebAssembly.
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** The plugin. Only for builds: the development server needs inline styles and a socket. */
export function contentPolicy(): Plugin {
  return {
    name: "content-policy",
    apply: "build",
    transformIndexHtml: () => [{ tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" }],
  };
}
