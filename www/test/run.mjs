// Bundles the tests and runs them: Node 20 does not read TypeScript by itself, and Vite, which builds the console, does.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));
const outDir = path.join(here, "../node_modules/.cache/test");
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts"));

rmSync(outDir, { recursive: true, force: true });
await build({
  configFile: false,
  logLevel: "warn",
  build: { ssr: true, outDir, minify: false, rollupOptions: { input: names.map((name) => path.join(here, name)), output: { entryFileNames: "[name].mjs" } } },
});
const tests = readdirSync(outDir).filter((name) => name.endsWith(".test.mjs")).map((name) => path.join(outDir, name));
const { status } = spawnSync(process.execPath, ["--test", ...tests], { stdio: "inherit" });
process.exit(status ?? 1);
