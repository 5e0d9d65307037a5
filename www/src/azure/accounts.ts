/** The names of the accounts that were used in this browser. Accounts need no making, so nobody else knows their names. */

import { signal } from "@preact/signals";

const PLACE = "tabstore-console-accounts";
const OFFERED = "demo";
const KEPT = 12;

function stored(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
  } catch {
    // A page without storage knows the names of this visit.
    return [];
  }
}

const used = signal<readonly string[]>(stored());

/** The names, `demo` among them, in their order. Case does not distinguish them. */
export function accountNames(current: string): readonly string[] {
  return [...new Set([OFFERED, ...used.value, current.toLowerCase()])].sort();
}

/** Remembers a name. */
export function rememberAccount(name: string): void {
  const known = [name.toLowerCase(), ...used.peek().filter((other) => other !== name.toLowerCase())].slice(0, KEPT);
  used.value = known;
  try {
    localStorage.setItem(PLACE, JSON.stringify(known));
  } catch {
    // Then it lasts until the page goes.
  }
}
