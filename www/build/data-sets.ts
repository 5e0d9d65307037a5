/**
 * Puts the data sets that the console offers for import beside it, under `data/`: taken from the npm package
 * vega-datasets when the console is built, so that none of them lies in this repository.
 */

import { createReadStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import type { Plugin } from "vite";

import { DATA_SETS } from "../src/importing/data-sets.ts";

/** The folder of vega-datasets; its data files are in `data/`. */
export function vegaDataSets(): string {
  // Its package.json is not exported, its entry is: build/index.js.
  return path.join(path.dirname(createRequire(import.meta.url).resolve("vega-datasets")), "..");
}

/** Whoever passes the data on says where it is from, and under which licence. */
function notice(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as Record<string, string>;
  const files = DATA_SETS.map(({ file }) => file).join(", ");
  return `${files}: from ${name} ${version} (https://github.com/vega/vega-datasets), license ${license}.\n`;
}

/** The plugin: emits the files at build time, serves them in development. */
export function dataSets(): Plugin {
  const folder = vegaDataSets();
  return {
    name: "data-sets",
    generateBundle() {
      for (const { file } of DATA_SETS) {
        this.emitFile({ type: "asset", fileName: `data/${file}`, source: readFileSync(path.join(folder, "data", file)) });
      }
      this.emitFile({ type: "asset", fileName: "data/NOTICE.txt", source: notice(folder) });
    },
    configureServer(server) {
      server.middlewares.use("/data", (request, response, next) => {
        const name = (request.url ?? "").slice(1).replace(/\?.*$/, "");
        if (!DATA_SETS.some(({ file }) => file === name)) next();
        else createReadStream(path.join(folder, "data", name)).pipe(response);
      });
    },
  };
}
