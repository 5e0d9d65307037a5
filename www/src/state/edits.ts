/** The changes that were typed in grids and not saved. They outlive a look at another table, and a reload asks first. */

import { signal } from "@preact/signals";

import { type Edits, NO_EDITS } from "../lib/edits.ts";
import { session } from "./session.ts";

/** Those of the open instance, by table. */
const typed = signal<{ readonly db: unknown; readonly tables: ReadonlyMap<string, Edits> }>({ db: undefined, tables: new Map() });

/** The open database; another one has other rows. */
function openDatabase(): unknown {
  const current = session.value;
  return current.state === "open" ? current.db : undefined;
}

/** Asks before the page is left. */
function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** The changes of a table. */
export function editsOf(tableName: string): Edits {
  const { db, tables } = typed.value;
  return (db === openDatabase() ? tables.get(tableName) : undefined) ?? NO_EDITS;
}

/** Keeps the changes of a table. */
export function keepEdits(tableName: string, edits: Edits): void {
  const db = openDatabase();
  const tables = new Map(typed.value.db === db ? typed.value.tables : []);
  if (edits.size === 0) tables.delete(tableName);
  else tables.set(tableName, edits);
  typed.value = { db, tables };
  if (tables.size > 0) addEventListener("beforeunload", ask);
  else removeEventListener("beforeunload", ask);
}
