/** The tables of the account that the address names. */

import { computed, signal } from "@preact/signals";

import { route } from "../state/route.ts";
import { session } from "../state/session.ts";
import { listAccounts, listTables } from "./client.ts";

/** The account. */
export const account = computed(() => route.value.account);
/** Its tables, in their order; `undefined` until they have been read. */
export const accountTables = signal<readonly string[] | undefined>(undefined);
/** The accounts that have tables. */
const accounts = signal<readonly string[]>([]);
/** Why they could not be read. */
export const accountError = signal<unknown>(undefined);

/** Whose tables {@link accountTables} are. */
let shown: string | undefined;
let readings = 0;

/** Reads the tables of the account. */
export async function refreshAccount(): Promise<void> {
  const mine = ++readings;
  const current = session.peek();
  const name = account.peek();
  const whose = current.state === "open" && name !== undefined ? `${current.db.name}/${name}` : undefined;
  if (whose !== shown) {
    shown = whose;
    accountTables.value = undefined;
    accountError.value = undefined;
  }
  if (current.state !== "open" || name === undefined) return;
  try {
    const [all, names] = await Promise.all([listAccounts(current.db), listTables(current.db, name)]);
    if (mine !== readings) return;
    accounts.value = all;
    accountTables.value = names;
    accountError.value = undefined;
  } catch (error) {
    if (mine !== readings) return;
    accountTables.value ??= [];
    accountError.value = error;
  }
}

/** The accounts to choose from: one to begin with, those that have tables, and the shown one. Case does not distinguish them. */
export const offeredAccounts = (current: string) => [...new Set(["demo", ...accounts.value, current.toLowerCase()])].sort();

/** Whether two names are those of one table. */
export const sameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
