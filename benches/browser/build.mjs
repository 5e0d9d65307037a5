// Builds what the browser loads, in memory: the page, the worker, and each database with its own code only.

import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build as esbuild } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Our package is not bundled again: it is loaded as it is shipped. */
const ours = {
  name: "ours",
  setup({ onResolve }) {
    onResolve({ filter: /^tabstore$/ }, () => ({ path: "/tabstore/index.js", external: true }));
  },
};

/** The files to serve, by address. */
export async function build() {
  const common = {
    absWorkingDir: here, bundle: true, format: "esm", target: "es2022", legalComments: "none", outdir: "out", write: false,
    plugins: [ours], logLevel: "error",
  };
  // Ours keep their names, for profiles; what the databases have to load is small.
  const frame = await esbuild({ ...common, entryPoints: { page: "src/page.ts", worker: "src/worker.ts" } });
  const entryPoints = Object.fromEntries(["tabstore", "idb", "dexie", "sqlite"].map((name) => [name, `src/engines/${name}.ts`]));
  const engines = await esbuild({ ...common, entryPoints, minify: true });
  const outputFiles = [...frame.outputFiles, ...engines.outputFiles];
  const files = new Map(outputFiles.map((file) => [`/${path.basename(file.path)}`, Buffer.from(file.contents)]));
  files.set("/sqlite3.wasm", readFileSync(path.join(here, "node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3.wasm")));
  files.set("/", Buffer.from("<!doctype html><meta charset=utf-8><title>TabStore benchmark</title><link rel=icon href=data:,><script type=module src=/page.js></script>"));
  return files;
}

/** Versions of the databases that ours is compared with. */
export function versions() {
  const { devDependencies } = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));
  return { idb: devDependencies.idb, dexie: devDependencies.dexie, sqlite: devDependencies["@sqlite.org/sqlite-wasm"] };
}
