/** An import of a file in the languages. The SDKs have none: there the table is made, and the rest is said. */

import type { CreateTableRequest, ImportOptions } from "tabstore";
import { linesOf, quote } from "tabstore/shell";

import { literal } from "./javascript.ts";
import { before, list, render } from "./document.ts";
import { opening } from "./opening.ts";

/** An import that a dialog makes. */
export interface ImportShown {
  readonly operation: "importRows";
  readonly request: {
    readonly tableName: string;
    /** The name of the file. */
    readonly source: string;
    readonly options: ImportOptions;
    /** The table that is made first; none if it is there. */
    readonly create: CreateTableRequest | undefined;
  };
}

/** Options of the import that no option of the shell says. Types and legal names it finds by itself. */
function leftOut({ columns = {}, rowNumber, onDuplicate = "replace" }: ImportOptions): string[] {
  const out = Object.entries(columns).flatMap(([name, rule]) => (rule === false ? [name] : []));
  return [
    ...(rowNumber === undefined ? [] : [`a key of row numbers (${rowNumber})`]),
    ...(onDuplicate === "replace" ? [] : [`rows whose key is there: it replaces them, and this would ${onDuplicate}`]),
    ...(out.length === 0 ? [] : [`columns that are left out (${out.join(", ")})`]),
  ];
}

/** The lines of the shell. */
export function importLines({ request: { tableName, source, options, create } }: ImportShown): string {
  const made = create === undefined ? [] : linesOf({ operation: "createTable", request: create }).lines;
  const used = linesOf({ operation: "scan", request: { tableName } }).lines.slice(0, 1);
  const line = `import -i ${quote(source)}${options.onError === "skip" ? " --ignore_failed" : ""}`;
  return [...leftOut(options).map((what) => `# The shell has no option for ${what}.`), ...made, ...used, line, ""].join("\n");
}

/** JavaScript of this package. */
export function importJavascript({ request: { tableName, source, options, create } }: ImportShown, instance: string): string {
  const needs = new Set<string>();
  const make = create === undefined ? [] : [`await ${render(before("db.createTable(", literal(create, needs)))});`];
  const work = `await ${render(list("db.importRows(", [JSON.stringify(tableName), "file", literal(options, needs)], ")"))};`;
  return [...opening(instance), ...make, `// file: ${source}, as a File, a Response or a stream.`, `${work}\n`].join("\n");
}
