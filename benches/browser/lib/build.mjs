// Builds the browser's files in memory: the page, the worker, an adapter for each database, and the databases alone.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build as esbuild } from "esbuild";

export const folder = fileURLToPath(new URL("..", import.meta.url));
const packages = path.join(folder, "node_modules");

/**
 * The databases to compare with. `code` is the part of the package that an application would use. Each is bundled apart
 * from its adapter, so that its download can be weighed. One without `code` is served as its makers built it.
 */
const PEERS = {
  idb: { package: "idb", code: 'export { deleteDB, openDB } from "idb"' },
  dexie: { package: "dexie", code: 'export { Dexie } from "dexie"' },
  localforage: { package: "localforage", code: 'export { default } from "localforage"' },
  sqlite: { package: "@sqlite.org/sqlite-wasm", code: 'export { default } from "@sqlite.org/sqlite-wasm"', files: ["sqlite3.wasm"] },
  pglite: { package: "@electric-sql/pglite" },
};
const ADAPTERS = ["tabstore", "files", ...Object.keys(PEERS)];

/** Keeps databases out of the bundles that use them: ours is loaded as it is shipped, the others from below `/lib/`. */
const outside = {
  name: "outside",
  setup({ onResolve }) {
    onResolve({ filter: /^tabstore$/ }, () => ({ path: "/tabstore/index.js", external: true }));
    onResolve({ filter: /^tabstore\/timeline$/ }, () => ({ path: "/tabstore/timeline.js", external: true }));
    onResolve({ filter: /^tabstore\/schema$/ }, () => ({ path: "/tabstore/schema.js", external: true }));
    for (const [name, peer] of Object.entries(PEERS)) {
      onResolve({ filter: new RegExp(`^${peer.package}$`) }, () => ({ path: `/lib/${name}/index.js`, external: true }));
    }
  },
};

/** The files to serve, by address. */
export async function build() {
  const files = new Map();
  const common = {
    absWorkingDir: folder,
    bundle: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    outdir: "out",
    write: false,
    logLevel: "error",
  };
  // Ours keep their names, for profiles.
  const entryPoints = {
    page: "src/page.ts",
    worker: "src/worker.ts",
    hub: "src/hub.ts",
    large: "src/large.ts",
    soak: "src/soak/page.ts",
    chat: "src/chat.ts",
    live: "src/live.ts",
    typed: "src/typed.ts",
  };
  for (const name of ADAPTERS) entryPoints[name] = `src/engines/${name}.ts`;
  const ours = await esbuild({ ...common, entryPoints, plugins: [outside] });
  for (const file of ours.outputFiles) files.set(`/${path.basename(file.path)}`, Buffer.from(file.contents));
  for (const [name, { package: from, code, files: more = [] }] of Object.entries(PEERS)) {
    const dist = path.join(packages, from, "dist");
    if (code === undefined) {
      for (const file of readdirSync(dist)) if (/\.(js|wasm|data)$/.test(file)) files.set(`/lib/${name}/${file}`, readFileSync(path.join(dist, file)));
      continue;
    }
    const { outputFiles } = await esbuild({ ...common, stdin: { contents: code, resolveDir: folder }, minify: true });
    files.set(`/lib/${name}/index.js`, Buffer.from(outputFiles[0].contents));
    for (const file of more) files.set(`/lib/${name}/${file}`, readFileSync(path.join(dist, file)));
  }
  for (const [address, script] of [
    ["/", "page"],
    ["/soak", "soak"],
    ["/chat", "chat"],
    ["/live", "live"],
    ["/typed", "typed"],
  ]) {
    files.set(
      address,
      Buffer.from(
        `<!doctype html><meta charset=utf-8><title>TabStore benchmark</title><link rel=icon href=data:,><script type=module src=/${script}.js></script>`,
      ),
    );
  }
  return files;
}

/** The versions of the databases to compare with. */
export function versions() {
  return Object.fromEntries(
    Object.entries(PEERS).map(([name, peer]) => [name, JSON.parse(readFileSync(path.join(packages, peer.package, "package.json"), "utf8")).version]),
  );
}
