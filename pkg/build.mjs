// Builds dist/, with a source map beside each minified file: `npm run build`, which `cargo xtask build` calls once the generated glue is in wasm/ and src/codec/contract*.ts
// are rendered.
//
//   dist/index.js        the default entry, with chunks that only some applications load
//   dist/worker.js       the engine's worker
//   dist/tabs.js         the shared worker that introduces tabs
//   dist/tabstore_bg.wasm           the core of the engine
//   dist/tabstore_<module>.wasm     its modules, which are loaded on first use
//   dist/inline.js       all of it in one file
//   dist/node.js         for Node and Deno
//   dist/azure.js        the Azure Table service, beside any of these
//   dist/tablestore.js   the protocol of Table Store, beside any of these
//   dist/timeline.js     the Timeline model, beside any of these
//   dist/cloud.js        connections to the service; cloud-more.js and cloud-files.js are loaded on first use
//   dist/sync.js         copies of tables between databases, beside any of these; dist/sync-both.js: those that go both ways
//   dist/remote.js       a session of a server's instance
//   dist/shell.js        the command line, beside any of these
//   dist/cli.js          the program `npx tabstore`
//   dist/serve.js        its server, `npx tabstore serve`
//   dist/vite.js         the plugin for Vite
//   dist/inspector.js    the element <tabstore-inspector>, beside any of these
//   dist/console/        the console, which the build of www/ puts there
//   dist/react.js        React's hook for live queries, beside any of these
//   dist/types/           the types, the same for all entries

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const at = (...parts) => path.join(here, ...parts);
const wasm = at("wasm/tabstore_bg.wasm");

if (!existsSync(wasm) || !existsSync(at("wasm/tabstore.js"))) {
  console.error("pkg/wasm is empty: run `cargo xtask build`, which compiles the engine and then calls this.");
  process.exit(1);
}
if (!existsSync(at("src/codec/contract.ts"))) {
  console.error("pkg/src/codec/contract.ts is missing: run `cargo xtask build`, which renders it and then calls this.");
  process.exit(1);
}

/** The modules of the engine that are loaded on first use. A build without optimisation has all code in one file. */
const MODULES = readdirSync(at("wasm")).flatMap((file) => /^tabstore_(?!bg\.)(\w+)\.wasm$/.exec(file)?.[1] ?? []);
const isSplit = MODULES.length > 0;

/** The last name under which the core exports its memory. In a build with modules it is another one for each build. */
const mark = WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(wasm))).findLast(({ kind }) => kind === "memory").name;

const zipped = (file) => gzipSync(readFileSync(file), { level: 9 }).toString("base64");

const common = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: ["es2022", "chrome98", "firefox104", "safari15.4"],
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  define: { TABSTORE_SPLIT: String(isSplit) },
};

/** Gives index.ts the platform of another entry. */
const platform = (name) => ({
  name: "platform",
  setup({ onResolve }) {
    onResolve({ filter: /\/browser\.js$/ }, () => ({ path: at(`src/platform/${name}.ts`) }));
  },
});

/**
 * The glue looks for the wasm file beside itself by default; a bundler that sees that emits the file twice. The exports
 * must also notice traps: see src/host/traps.ts.
 */
const glue = {
  name: "glue",
  setup({ onLoad }) {
    onLoad({ filter: /wasm[\\/]tabstore\.js$/ }, () => {
      const made = readFileSync(at("wasm/tabstore.js"), "utf8").replace(/new URL\([^)]*import\.meta\.url\)/g, "undefined");
      if (made.includes("import.meta")) throw new Error("wasm/tabstore.js still names import.meta: mend build.mjs");
      const text = made.replace("wasm = instance.exports;", "wasm = watch(instance.exports);");
      if (text === made || !made.includes("wasmInstance = instance;") || !made.includes("function __wbg_get_imports()")) {
        throw new Error("wasm/tabstore.js takes its exports in another way: mend build.mjs");
      }
      // A module imports from JavaScript as the core does, and from the core itself.
      const link = "export function link(module) { new WebAssembly.Instance(module, { ...__wbg_get_imports(), core: wasmInstance.exports }); }";
      const contents = `import { watch } from "../src/host/traps.ts";\n${text}\n${link}\nexport const isSplit = ${isSplit};\nexport const mark = ${JSON.stringify(mark)};`;
      return { contents, loader: "js", resolveDir: at("wasm") };
    });
  },
};

/** The modules that only the build can write. */
const virtual = (modules) => ({
  name: "virtual",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^virtual:/ }, ({ path: name }) => ({ path: name, namespace: "virtual" }));
    onLoad({ filter: /.*/, namespace: "virtual" }, ({ path: name }) => ({ contents: modules[name], loader: "js" }));
  },
});

rmSync(at("dist"), { recursive: true, force: true });
mkdirSync(at("dist"));
copyFileSync(wasm, at("dist/tabstore_bg.wasm"));
for (const name of MODULES) copyFileSync(at(`wasm/tabstore_${name}.wasm`), at(`dist/tabstore_${name}.wasm`));

const entries = {
  ...common,
  entryPoints: { index: "src/index.ts", worker: "src/worker.ts", tabs: "src/tabs.ts" },
  outdir: "dist",
  sourcemap: "external",
  splitting: true,
  chunkNames: "[name]-[hash]",
};

/** What a page loads at once and other files need too. A bundler makes a chunk for each set of files that need it. */
async function shared() {
  const {
    metafile: { outputs },
  } = await build({ ...entries, plugins: [glue], metafile: true, write: false });
  const files = outputs["dist/index.js"].imports.filter(({ kind }) => kind === "import-statement").map(({ path: file }) => file);
  const lazy = Object.values(outputs)
    .map(({ entryPoint }) => entryPoint)
    .filter((file) => file !== undefined && !/^src\/(index|tabs)\.ts$/.test(file));
  return { modules: files.flatMap((file) => Object.keys(outputs[file].inputs)), lazy: new Set(lazy.map((file) => at(file))) };
}

/** Makes few chunks of them: small ones compress badly, and each is a request. All other files name them all. */
const together = ({ modules, lazy }) => ({
  name: "together",
  setup({ onLoad }) {
    // Source maps show these lines, so they name no folder of this machine.
    const all = (from) => modules.map((file) => `import ${JSON.stringify(`./${path.relative(path.dirname(from), at(file))}`)};`).join("\n");
    onLoad({ filter: /\.ts$/ }, ({ path: file }) => (lazy.has(file) ? { contents: `${readFileSync(file, "utf8")}\n${all(file)}\n`, loader: "ts" } : undefined));
  },
});

await build({ ...entries, plugins: [glue, together(await shared())], logOverride: { "ignored-bare-import": "silent" } });

const worker = await build({ ...common, entryPoints: ["src/worker.ts"], format: "iife", write: false, plugins: [glue] });

await build({
  ...common,
  entryPoints: { inline: "src/index.ts" },
  outdir: "dist",
  plugins: [
    glue,
    platform("inline"),
    virtual({
      "virtual:worker": `export default ${JSON.stringify(worker.outputFiles[0].text)};`,
      "virtual:wasm": `export default "${zipped(wasm)}";\nexport const modules = ${JSON.stringify(Object.fromEntries(MODULES.map((name) => [name, zipped(at(`wasm/tabstore_${name}.wasm`))])))};`,
    }),
  ],
});

await build({
  ...common,
  entryPoints: { node: "src/index.ts" },
  outdir: "dist",
  platform: "node",
  // Pages do not download it, and Node prints the line that throws an error.
  minify: false,
  plugins: [glue, platform("node")],
});

// The entries name these files literally, for bundlers.
const scripts = readdirSync(at("dist")).filter((name) => name.endsWith(".js") && name !== "inline.js");
for (const of of [["node.js"], scripts.filter((name) => name !== "node.js")]) {
  const named = of.flatMap((name) => [...readFileSync(at("dist", name), "utf8").matchAll(/tabstore_(?!bg\.)(\w+)\.wasm/g)].map(([, module]) => module));
  const names = [...new Set(named)].sort();
  if (isSplit && names.join() !== MODULES.toSorted().join())
    throw new Error(`dist/${of} names the modules ${names}, and the engine has ${MODULES}: mend src/types/rows.ts and src/platform`);
}

// What a service worker keeps for the default entry.
const own = readdirSync(at("dist")).filter((name) => !/^(?:inline|node)\.js$|\.map$/.test(name) && statSync(at(`dist/${name}`)).isFile());
writeFileSync(at("dist/files.json"), `${JSON.stringify(own)}\n`);

// They work on the public interface, so they are the same beside each entry.
const beside = { ...common, external: ["react"], outdir: "dist", sourcemap: "external" };
await build({
  ...beside,
  entryPoints: {
    azure: "src/azure/index.ts",
    tablestore: "src/tablestore/index.ts",
    timeline: "src/timeline/index.ts",
    shell: "src/shell/index.ts",
    inspector: "src/console/inspector.ts",
    react: "src/react.ts",
  },
});
await build({ ...beside, entryPoints: { schema: "src/schema/index.ts" }, splitting: true, chunkNames: "[name]-[hash]" });
/** A remote handle has no engine to load: it has a method of its own in place of this file's. */
const withoutEngine = {
  name: "without-engine",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/preload\.js$/ }, () => ({ path: "preload", namespace: "nothing" }));
    onLoad({ filter: /.*/, namespace: "nothing" }, () => ({ contents: "export {};" }));
  },
};
await build({ ...beside, entryPoints: { remote: "src/remote/index.ts" }, plugins: [withoutEngine] });

/**
 * A connection loads two files on first use. Each has its own copy of what it shares with the entry: in chunks of their own these parts
 * would cost an application that only reads and writes rows a tenth more.
 */
const parts = {
  name: "parts",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(more|files)\.js$/ }, ({ path: file, kind }) =>
      kind === "dynamic-import" ? { path: file.replace("./", "./cloud-"), external: true } : undefined,
    );
  },
};
await build({
  ...beside,
  entryPoints: { cloud: "src/cloud/index.ts", "cloud-more": "src/cloud/more.ts", "cloud-files": "src/cloud/files.ts" },
  plugins: [parts],
});
/** The rules of a job that goes both ways are a file of their own: a chunk for what both files need would be loaded by all jobs. */
const rules = {
  name: "rules",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/both\.js$/ }, ({ kind }) => (kind === "dynamic-import" ? { path: "./sync-both.js", external: true } : undefined));
  },
};
await build({ ...beside, entryPoints: { sync: "src/sync/index.ts", "sync-both": "src/sync/both.ts" }, plugins: [rules] });

/** The program takes the database and the shell from the files beside it. */
const siblings = {
  name: "siblings",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/index\.js$/ }, () => ({ path: "./node.js", external: true }));
    onResolve({ filter: /^\.\.\/shell\/index\.js$/ }, () => ({ path: "./shell.js", external: true }));
    onResolve({ filter: /^\.\.\/serve\/program\.js$/ }, () => ({ path: "./serve.js", external: true }));
  },
};

await build({
  ...common,
  entryPoints: { cli: "src/cli/index.ts" },
  outdir: "dist",
  platform: "node",
  target: "node20",
  minify: false,
  banner: { js: "#!/usr/bin/env node" },
  plugins: [siblings],
});

await build({
  ...common,
  entryPoints: { serve: "src/serve/program.ts" },
  outdir: "dist",
  platform: "node",
  target: "node20",
  minify: false,
  // The package ws is CommonJS: it takes Node's modules by require.
  banner: { js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);' },
  plugins: [siblings],
});

// Their licences ask for these lines wherever their code goes.
const bundled = ["ws", "devalue"].map(
  (name) => `${name}, in dist/serve.js and dist/remote.js\n\n${readFileSync(at(`node_modules/${name}/LICENSE`), "utf8").trim()}\n`,
);
writeFileSync(at("dist/LICENSES.txt"), bundled.join("\n---\n\n"));

await build({ ...common, entryPoints: { vite: "src/console/vite.ts" }, outdir: "dist", platform: "node", target: "node20", minify: false });

// Terser takes another 2 % off what pages download. `?.` and class fields stay: the targets have them.
for (const name of readdirSync(at("dist"))) {
  if (!name.endsWith(".js") || ["node.js", "cli.js", "serve.js", "vite.js"].includes(name)) continue;
  // The inline entry has none: it would hold the WebAssembly once more.
  const file = at(`dist/${name}.map`);
  const sourceMap = existsSync(file) && { content: readFileSync(file, "utf8"), url: `${name}.map`, includeSources: true };
  const { code, map } = await minify(readFileSync(at(`dist/${name}`), "utf8"), { module: true, ecma: 2020, compress: { passes: 3 }, sourceMap });
  writeFileSync(at(`dist/${name}`), `${code}\n`);
  if (sourceMap) writeFileSync(file, map);
}

// The types that the entries reach: those of the public modules, and no others.
for (const project of ["tsconfig.build.json", "tsconfig.node.json"])
  execFileSync(process.execPath, [at("node_modules/typescript/bin/tsc"), "--project", at(project)], { stdio: "inherit" });
const types = at("dist/types");
const reached = new Set();
const reach = (file) => {
  if (reached.has(file)) return;
  reached.add(file);
  for (const [, name] of readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)\.js"/g)) reach(path.join(path.dirname(file), `${name}.d.ts`));
};
for (const entry of [
  "index.d.ts",
  "azure/index.d.ts",
  "tablestore/index.d.ts",
  "timeline/index.d.ts",
  "sync/index.d.ts",
  "shell/index.d.ts",
  "schema/index.d.ts",
  "cloud/index.d.ts",
  "remote/index.d.ts",
  "react.d.ts",
  "console/vite.d.ts",
  "console/inspector.d.ts",
])
  reach(path.join(types, entry));
for (const name of readdirSync(types, { recursive: true })) {
  const file = path.join(types, name);
  if (statSync(file).isFile() && !reached.has(file)) rmSync(file);
}
for (const name of readdirSync(types)) {
  const folder = path.join(types, name);
  if (statSync(folder).isDirectory() && readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
}
