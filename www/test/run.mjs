// Bundles the tests and runs them: Node 20 does not read TypeScript by itself, and Vite, which builds the console, does.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "vite";

import { RUNNER } from "../../tests/report.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const outDir = path.join(here, "../node_modules/.cache/test");
const examples = path.join(here, "../../examples");
// The tests of the console, and of each example.
const tests = [
  here,
  ...readdirSync(examples)
    .map((name) => path.join(examples, name))
    .filter((file) => statSync(file).isDirectory()),
].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => path.join(folder, name)),
);

rmSync(outDir, { recursive: true, force: true });
await build({
  configFile: false,
  logLevel: "warn",
  build: {
    ssr: true,
    outDir,
    minify: false,
    // Node loads packages itself. TabStore looks for its files beside it, and the examples have no packages of their own.
    rollupOptions: { input: tests, external: /^(?:tabstore|idb|minisearch|fake-indexeddb)(?:$|\/)/, output: { entryFileNames: "[name].mjs" } },
  },
});
const built = readdirSync(outDir)
  .filter((name) => name.endsWith(".test.mjs"))
  .map((name) => path.join(outDir, name));
const { status } = spawnSync(process.execPath, [...RUNNER, ...built], { stdio: "inherit" });
process.exit(status ?? 1);
