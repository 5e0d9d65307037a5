/** Declares the tables of a database. */

import { Layout } from "./layout.js";
import type { Attaching } from "./attach.js";
import { attach } from "./attach.js";
import type { Checked, Schema, Specs } from "./types.js";

/** The name of the method by which `open` hands a database over. */
const ATTACH = Symbol.for("tabstore.schema");
/** Members of a database with a schema: no table may be called so. */
const TAKEN = ["service", "close", "atomic", "export", "import", "then"];

/**
 * Declares tables: their columns, keys and indexes. The types of rows, keys, changes and filters follow from it. It does nothing by
 * itself: `open(name, { schema })` makes what is missing.
 *
 * A table has at most 4 columns in its key, 5 indexes and 32 columns in them. A table with indexes has no time to
 * live. The tables of the store are called as here, and the indexes `table_index`. The versions of a table with indexes are in a table
 * `table_versions`.
 *
 * @throws TypeError for what no table can be, with the table and the column.
 * @example
 * ```ts
 * import { between, define, t } from "tabstore/schema";
 *
 * const schema = define({
 *   reading: { key: ["station", "at"], columns: { station: t.text, at: t.date, celsius: t.double, note: t.text.optional }, indexes: { byTime: ["at"] } },
 * });
 * const db = await open("weather", { schema });
 * await db.reading.put({ station: "SEA", at: new Date(), celsius: 12 });
 * const today = await db.reading.range({ station: "SEA", at: between(new Date(Date.now() - 86_400_000)) }).toArray();
 * ```
 */
export function define<const S extends Specs>(tables: S & { readonly [T in keyof S]: Checked<S[T]> }): Schema<S> {
  const layouts = Object.entries(tables as Specs).map(([name, spec]) => {
    if (TAKEN.includes(name)) throw new TypeError(`No table can be called '${name}': a database with a schema has a member of that name.`);
    return new Layout(name, spec);
  });
  const taken = new Map<string, string>();
  for (const { name, companion, indexes } of layouts) {
    const own: [string, string][] = [
      [name, `the table '${name}'`],
      ...[...indexes].map(([index, { tableName }]): [string, string] => [tableName, `the index '${index}' of '${name}'`]),
    ];
    if (companion !== undefined) own.push([companion.tableName, `the versions of '${name}'`]);
    for (const [stored, what] of own) {
      const other = taken.get(stored);
      if (other !== undefined) throw new TypeError(`The store would call both ${other} and ${what} '${stored}': give one of them another name.`);
      taken.set(stored, what);
    }
  }
  const schema = Object.fromEntries(Object.entries(tables).map(([name, spec]) => [name, Object.freeze({ spec })]));
  return Object.freeze(Object.defineProperty(schema, ATTACH, { value: (attaching: Attaching) => attach(layouts, attaching) })) as unknown as Schema<S>;
}
