// The same workloads in a page of Chromium, on IndexedDB. The browser and the server are those of ../../browser.

import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** What ../../browser has for it. */
async function tools() {
  try {
    const [{ Browser }, { Server }] = await Promise.all([import("../../browser/lib/browser.mjs"), import("../../browser/lib/server.mjs")]);
    return { Browser, Server };
  } catch (error) {
    if (error.code === "ERR_MODULE_NOT_FOUND") throw new Error("--browser needs the packages of benches/browser: run `npm install` there", { cause: error });
    throw error;
  }
}

/** The ways in which an instance can be durable. */
export const DURABILITIES = ["relaxed", "strict"];

/** Measures with so many entities in each table, for each way of being durable. */
export async function measure({ size, dist, count, share, say }) {
  const { Browser, Server } = await tools();
  const outside = {
    name: "outside",
    setup: ({ onResolve }) => onResolve({ filter: /^tabstore/ }, ({ path: name }) => ({ path: name === "tabstore" ? "/tabstore/index.js" : `/${name}.js`, external: true })),
  };
  const { outputFiles: [script] } = await build({
    absWorkingDir: folder, entryPoints: ["src/page.mjs"], bundle: true, format: "esm", platform: "browser", conditions: ["browser"], target: "es2022", legalComments: "none", write: false, logLevel: "error", plugins: [outside],
  });
  const page = "<!doctype html><meta charset=utf-8><title>TabStore benchmark</title><link rel=icon href=data:,><script type=module src=/page.js></script>";
  const server = await new Server(new Map([["/", Buffer.from(page)], ["/page.js", Buffer.from(script.contents)]]), { dist: path.resolve(dist) }).start();
  const browser = await Browser.start();
  try {
    const { context } = browser;
    say(`${size} entities in ${browser.version}`);
    await context.exposeFunction("say", say);
    const visited = await browser.open(`http://127.0.0.1:${server.port}/`);
    return await visited.evaluate((wanted) => globalThis.bench(wanted), { size, count, share, durabilities: DURABILITIES });
  } finally {
    await browser.stop();
    server.stop();
  }
}
