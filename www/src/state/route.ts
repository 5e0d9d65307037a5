/** Where in the console we are: the address, as a signal. */

import { signal } from "@preact/signals";

import { formatRoute, parseRoute, type Route, type RouteView } from "../lib/route.ts";

/** The current place. Change it by {@link navigate}. */
export const route = signal<Route>(parseRoute(location.hash));

/** Goes to a place; `replace` leaves no trace for the back button, for changes that are no step of the user's. */
export function navigate(to: Route, replace = false): void {
  const hash = formatRoute(to);
  if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
  route.value = parseRoute(hash);
}

/** Shows a table of the open instance from its first row, or none. */
export function showTable(table: string | undefined): void {
  const { instance, storage, clock } = route.value;
  navigate({ instance, storage, clock, table });
}

/** Shows the rows of the shown table, or another view of it. The range and the filter of the rows stay. */
export function showView(view: RouteView | undefined): void {
  navigate({ ...route.value, account: undefined, view });
}

/** Shows the units and the calls of the open instance, of one table or of all. */
export function showUnits(table?: string): void {
  const { instance, storage, clock } = route.value;
  navigate({ instance, storage, clock, table, view: "units" });
}

/** Shows the inside of the open instance, with the segments of one table, or of the largest one. */
export function showInside(table?: string): void {
  const { instance, storage, clock } = route.value;
  navigate({ instance, storage, clock, table, view: "inside" });
}

/** Shows the program. The table stays in the address: the way back leads to it. */
export function showCodeView(): void {
  const { instance, storage, clock, table } = route.value;
  navigate({ instance, storage, clock, table, view: "code" });
}

let last = "demo";

/** The account that was shown last. */
export const lastAccount = () => last;

/** Shows a table of entities of an account of the open instance, or only the account. */
export function showEntities(account: string, entities?: string): void {
  last = account;
  const { instance, storage, clock } = route.value;
  navigate({ instance, storage, clock, account, entities });
}

for (const event of ["hashchange", "popstate"]) addEventListener(event, () => (route.value = parseRoute(location.hash)));
