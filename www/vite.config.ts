import { defineConfig } from "vite";

import { contentPolicy } from "./build/content-policy.ts";
import { dataSets } from "./build/data-sets.ts";

export default defineConfig({
  // Relative addresses: the built console works in any folder of any server.
  base: "./",
  // The examples lie beside this folder, and have no packages of their own. The package's hook for React works with Preact too.
  resolve: { dedupe: ["tabstore", "idb", "minisearch", "preact"], alias: { react: "preact/compat" } },
  plugins: [dataSets(), contentPolicy()],
  // The worker of programs loads the package's code in parts, as the page does.
  worker: { format: "es" },
  build: {
    // The browsers that know `light-dark()` and `<dialog>`, so that neither styles nor scripts are rewritten for older ones.
    target: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    // The licences of what is in these files.
    license: { fileName: "LICENSES.md" },
    modulePreload: { polyfill: false },
  },
  // The package and the examples lie beside this folder.
  server: { host: "127.0.0.1", fs: { allow: [".", "../pkg", "../examples"] } },
  preview: { host: "127.0.0.1" },
});
