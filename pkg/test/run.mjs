// Compiles the tests, which are TypeScript, and runs them with Node's test runner. Arguments: names of tests, else all.

import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { RUNNER } from "../../tests/report.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = path.join(here, "../node_modules/.cache/tabstore-test");
const wanted = process.argv.slice(2);
const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((one) => name.includes(one))));

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: tests.map((name) => path.join(here, name)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  // The tests run on engines of their own. The SDK of Azure is of several kinds of modules, and ws takes those of Node by require.
  external: ["*/wasm/tabstore.js", "@azure/*", "ws"],
  logLevel: "warning",
});
const files = tests.map((name) => path.join(out, name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", ...RUNNER, ...files], { stdio: "inherit" });
process.exit(status ?? 1);
