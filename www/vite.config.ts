import { defineConfig } from "vite";

import { contentPolicy } from "./build/content-policy.ts";
import { dataSets } from "./build/data-sets.ts";

export default defineConfig({
  // Relative addresses: the built console works in any folder of any server.
  base: "./",
  plugins: [dataSets(), contentPolicy()],
  build: {
    // The browsers that know `light-dark()` and `<dialog>`, so that neither styles nor scripts are rewritten for older ones.
    target: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // The package lies beside this folder.
  server: { host: "127.0.0.1", fs: { allow: [".", "../pkg"] } },
  preview: { host: "127.0.0.1" },
});
