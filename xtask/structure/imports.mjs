// Reads TypeScript from stdin, as JSON of paths and texts. Writes what each file imports and exports, by the parser oxc, which
// the package `pkg` installs. `src/scripts.rs` reads it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = createRequire(new URL("../../pkg/package.json", import.meta.url));
const { parseSync } = await import(pathToFileURL(installed.resolve("oxc-parser")).href);

/** The name of an import or export. `*` is the whole module. */
const named = (name) => (name.kind === "Name" ? name.name : name.kind === "Default" ? "default" : "*");

const read = (path, text) => {
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) {
    throw new Error(`${path}: ${errors[0].message}`);
  }
  const imports = module.staticImports.flatMap((statement) => {
    const from = statement.moduleRequest.value;
    // A module that is imported for what it does has no names.
    const none = [{ from, name: "*", local: null }];
    const entries = statement.entries.map((entry) => ({ from, name: named(entry.importName), local: entry.localName.value }));
    return entries.length > 0 ? entries : none;
  });
  const exports = module.staticExports.flatMap((statement) =>
    statement.entries.map((entry) => ({
      name: named(entry.exportName),
      from: entry.moduleRequest?.value ?? null,
      imported: entry.moduleRequest ? named(entry.importName) : null,
      local: entry.localName.name ?? null,
    })),
  );
  return { imports, exports };
};

const sources = JSON.parse(readFileSync(0, "utf8"));
const found = Object.entries(sources).map(([path, text]) => [path, read(path, text)]);
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
