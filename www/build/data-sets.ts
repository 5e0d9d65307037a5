/**
 * Puts the data sets that the console offers for import beside it, under `data/`. They come from the npm package
 * vega-datasets when the console is built, so this repository contains none. One is made from another.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import type { Plugin } from "vite";

import { DATA_SETS, type DataSet } from "../src/importing/data-sets.ts";
import { bookedFlights } from "./booked-flights.ts";
import { sortableDates } from "./sortable-dates.ts";

/** The folder of vega-datasets; its data files are in `data/`. */
export function vegaDataSets(): string {
  // Its package.json is not exported, its entry is: build/index.js.
  return path.join(path.dirname(createRequire(import.meta.url).resolve("vega-datasets")), "..");
}

/** The source and the licence, which a copy of the data must name. */
function notice(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as Record<string, string>;
  const files = DATA_SETS.map(({ file, madeFrom }) => (madeFrom === undefined ? file : `${file} (made from ${madeFrom})`)).join(", ");
  return `${files}: from ${name} ${version} (https://github.com/vega/vega-datasets), license ${license}.\n`;
}

/** What is made of other files, by the file that is made. */
const MAKERS: Readonly<Record<string, (source: string) => string>> = { "flights-by-booking.csv": bookedFlights, "stocks.csv": sortableDates };

/** The contents of a data set's file. */
export function content({ file, madeFrom }: DataSet, folder = vegaDataSets()): Buffer {
  const source = readFileSync(path.join(folder, "data", madeFrom ?? file));
  const make = MAKERS[file];
  return make === undefined ? source : Buffer.from(make(source.toString()));
}

/** The plugin: emits the files at build time, serves them in development. */
export function dataSets(): Plugin {
  const folder = vegaDataSets();
  return {
    name: "data-sets",
    generateBundle() {
      for (const set of DATA_SETS) this.emitFile({ type: "asset", fileName: `data/${set.file}`, source: content(set, folder) });
      this.emitFile({ type: "asset", fileName: "data/NOTICE.txt", source: notice(folder) });
    },
    // A copy of the console may have fewer of them.
    transformIndexHtml: () => [{ tag: "meta", attrs: { name: "data-sets", content: DATA_SETS.map(({ file }) => file).join(" ") }, injectTo: "head" }],
    configureServer(server) {
      server.middlewares.use("/data", (request, response, next) => {
        const name = (request.url ?? "").slice(1).replace(/\?.*$/, "");
        const set = DATA_SETS.find(({ file }) => file === name);
        if (set === undefined) next();
        else response.end(content(set, folder));
      });
    },
  };
}
