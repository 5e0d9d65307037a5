// What the benchmarks in Node have in common: their options, and TypeScript as a module of Node, with a build of the package.

import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { build } from "esbuild";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = fileURLToPath(new URL("..", import.meta.url));

/** The options of a program, checked: `rows` and `rounds` say how many there are without one. `flags` and `texts` are its own. */
export function options(help, { rows, rounds }, flags = [], texts = []) {
  const string = { type: "string" };
  const flag = { type: "boolean", default: false };
  const own = Object.fromEntries([...flags.map((name) => [name, flag]), ...texts.map((name) => [name, string])]);
  const { values } = parseArgs({ options: { rows: string, rounds: string, dist: string, out: string, help: flag, ...own } });
  if (values.help) {
    console.log(help.trim());
    process.exit(0);
  }
  const number = (name, otherwise) => {
    const value = Number(values[name] ?? otherwise);
    if (!(value >= 1)) throw new Error(`--${name} is ${values[name]}; it must be a number of at least 1`);
    return value;
  };
  const at = (name, otherwise) => path.resolve(values[name] ?? path.join(root, otherwise));
  const asked = Object.fromEntries([...flags, ...texts].map((name) => [name, values[name]]));
  return { ...asked, rows: number("rows", rows), rounds: number("rounds", rounds), dist: at("dist", "pkg/dist"), out: at("out", "target/bench") };
}

/** A module of TypeScript, by its path from benches/node. It uses the package in `dist`. */
export async function load(entry, dist) {
  const file = path.join(folder, `node_modules/.${path.basename(entry, ".ts")}.mjs`);
  const ours = {
    name: "ours",
    setup({ onResolve }) {
      onResolve({ filter: /^tabstore(\/\w+)?$/ }, ({ path: name }) => {
        const [, part = "node"] = name.split("/");
        return { path: pathToFileURL(path.join(dist, `${part}.js`)).href, external: true };
      });
    },
  };
  await build({ absWorkingDir: folder, entryPoints: [entry], outfile: file, bundle: true, format: "esm", platform: "node", target: "node24", plugins: [ours], logLevel: "error" });
  return import(pathToFileURL(file).href);
}
