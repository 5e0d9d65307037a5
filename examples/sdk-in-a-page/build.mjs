// Builds the page's script and its service worker: node build.mjs

import { build } from "esbuild";

/** Marks the search for the `buffer` of this folder. */
const OWN = Symbol("own");

/** The files that the package's build for browsers takes from Bower, and modules of Node that it does not call in a browser. */
const tablestore = {
  name: "tablestore",
  setup({ onLoad, onResolve, resolve }) {
    const from = { kind: "require-call", resolveDir: import.meta.dirname };
    onResolve({ filter: /bower_components\/jsSHA/ }, () => resolve("jssha", from));
    onResolve({ filter: /bower_components\/spark-md5/ }, () => resolve("spark-md5", from));
    onResolve({ filter: /^url$/ }, () => resolve("url/", from));
    // The SDK's own version of it lacks what the SDK reads.
    onResolve({ filter: /^buffer\/$/ }, ({ pluginData }) => (pluginData === OWN ? undefined : resolve("buffer/", { ...from, pluginData: OWN })));
    onResolve({ filter: /^(?:stream|https?|fs|util)$/ }, ({ path }) => ({ path, namespace: "nothing" }));
    onLoad({ filter: /.*/, namespace: "nothing" }, () => ({ contents: "module.exports = {};" }));
  },
};

const common = { bundle: true, format: "esm", outdir: "dist", logLevel: "warning" };
await build({
  ...common,
  entryPoints: ["main.js"],
  plugins: [tablestore],
  inject: ["shim.js"],
  define: { "process.env.DEBUG": "undefined", global: "globalThis" },
});
await build({ ...common, entryPoints: ["worker.js"] });
