/** The range and the filter that the address names. */

import { useMemo } from "preact/hooks";
import type { TableDescription } from "tabstore";

import { conditionsIn, parseFilter, toFilter } from "../lib/filters.ts";
import { parseEnd } from "../lib/keys.ts";
import { route } from "../state/route.ts";
import type { View } from "./paging.ts";

/** A view that an address names. */
export interface NamedView {
  /** The view; `undefined` if the address has an error. */
  readonly view: View | undefined;
  /** The conditions in its filter. */
  readonly conditions: number;
  /** The error. */
  readonly wrong: unknown;
}

/** The view of a table that the address names. */
export function useView(table: TableDescription): NamedView {
  const { order = "FORWARD", start = [], end = [], where, rows = "50" } = route.value;
  const { tableName, primaryKey: schema } = table;
  // A table that was described again is the same table.
  const said = JSON.stringify([tableName, schema, order, start, end, where, rows]);
  return useMemo(() => {
    try {
      const given = parseFilter(where);
      const filter = toFilter(given);
      const ends = { start: parseEnd(schema, start, "start", order), end: parseEnd(schema, end, "end", order) };
      return { view: { tableName, schema, direction: order, limit: Number(rows), ...ends, filter }, conditions: conditionsIn(given), wrong: undefined };
    } catch (wrong) {
      return { view: undefined, conditions: 0, wrong };
    }
  }, [said]);
}
