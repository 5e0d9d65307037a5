/** The tables of the account that the address names. */

import { computed, signal } from "@preact/signals";

import { route } from "../state/route.ts";
import { session } from "../state/session.ts";
import { rememberAccount } from "./accounts.ts";
import { listTables } from "./client.ts";

/** The account. */
export const account = computed(() => route.value.account);
/** Its tables, in their order; `undefined` until they have been read. */
export const accountTables = signal<readonly string[] | undefined>(undefined);
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
    const names = await listTables(current.db, name);
    if (mine !== readings) return;
    rememberAccount(name);
    accountTables.value = names;
    accountError.value = undefined;
  } catch (error) {
    if (mine !== readings) return;
    accountTables.value ??= [];
    accountError.value = error;
  }
}

/** Whether two names are those of one table. */
export const sameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
