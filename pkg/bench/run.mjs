// Runs the codec benchmark in Node and, where it is installed, in Chromium: `npm run bench:codec`.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = path.join(here, "../node_modules/.cache/tabstore-bench");
mkdirSync(out, { recursive: true });
await build({ entryPoints: [path.join(here, "codec.ts")], outfile: path.join(out, "codec.mjs"), bundle: true, format: "esm", target: "es2022", minify: true });
const { runCodecBenchmark } = await import(pathToFileURL(path.join(out, "codec.mjs")).href);
console.log(`Node ${process.versions.node}\n\n${runCodecBenchmark().join("\n")}`);

const chromium = process.env.CHROME ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
if (chromium === undefined) process.exit(0);
await build({
  stdin: { contents: 'import { runCodecBenchmark } from "./codec.ts"; document.body.textContent = runCodecBenchmark().join("\\n");', resolveDir: here },
  outfile: path.join(out, "page.js"), bundle: true, format: "iife", target: "es2022", minify: true,
});
writeFileSync(path.join(out, "page.html"), '<!doctype html><meta charset="utf-8"><body><script src="page.js"></script></body>');
// The script runs before the page has loaded, and the page is printed after.
const { stdout } = spawnSync(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom", pathToFileURL(path.join(out, "page.html")).href], { encoding: "utf8" });
console.log(`\nChromium\n\n${/<body>([\s\S]*)<\/body>/.exec(stdout)?.[1] ?? stdout}`);
