/** The tables of the open instance. */

import { computed, signal } from "@preact/signals";
import type { TableDescription } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { logged } from "./calls.ts";
import { route } from "./route.ts";
import { database, session } from "./session.ts";

/** The tables, sorted by name; `undefined` until they have been read. */
export const tables = signal<readonly TableDescription[] | undefined>(undefined);
/** Why they could not be read. */
export const tablesError = signal<string | undefined>(undefined);
/** The table that the address names, if it exists. */
export const currentTable = computed(() => tables.value?.find(({ tableName }) => tableName === route.value.table));
/** Rises whenever rows were changed behind the browser's back, so that it reads again. */
export const rowsChanged = signal(0);

/** Reads all tables and their options. */
export async function refreshTables(): Promise<void> {
  if (session.value.state !== "open") {
    tables.value = undefined;
    return;
  }
  const db = database();
  try {
    const names = await logged("ListTable", db.name, () => db.listTable());
    const described = await Promise.all(names.map((name) => db.describeTable(name)));
    if (session.value.state !== "open" || session.value.db !== db) return;
    tablesError.value = undefined;
    tables.value = described;
  } catch (error) {
    tablesError.value = asError(error).message;
    tables.value ??= [];
  }
}

/** Reads all that is shown again: another tab may have changed it. */
export function readAgain(): void {
  if (session.peek().state !== "open") return;
  void refreshTables();
  rowsChanged.value += 1;
}

/** The table of a name, if it exists. */
export function findTable(name: string): TableDescription | undefined {
  return tables.value?.find(({ tableName }) => tableName === name);
}
