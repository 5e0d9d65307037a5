/** The rows of a page as a table: key columns first, then every column that any of the rows has. */

import { useMemo } from "preact/hooks";
import type { Row, TableDescription, Value, ValueType } from "tabstore";

import { keyText } from "../lib/keys.ts";
import { typeOf } from "../lib/values.ts";
import { moveFocus, useRowFocus } from "./row-focus.ts";
import { isNumeric, ValueText } from "./value.tsx";

/** The props of the grid. */
interface GridProps {
  readonly table: TableDescription;
  readonly rows: readonly Row[];
  readonly onOpen: (row: Row) => void;
}

/** The columns of all rows together, with the types that occur in each. */
function columnsOf(rows: readonly Row[]): readonly { readonly name: string; readonly types: readonly ValueType[]; readonly numeric: boolean }[] {
  const columns = new Map<string, Set<ValueType>>();
  for (const row of rows) {
    for (const name of row.columnNames) {
      const types = columns.get(name) ?? new Set();
      types.add(row.type(name) ?? typeOf(row.get(name) as Value));
      columns.set(name, types);
    }
  }
  return [...columns].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, types]) =>
    ({ name, types: [...types], numeric: [...types].every((type) => type === "INTEGER" || type === "DOUBLE") }));
}

/** The grid. A row opens by its first cell, which is a button, or by a click anywhere in it. */
export function Grid({ table, rows, onOpen }: GridProps) {
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const { body, focused } = useRowFocus(rows);
  if (rows.length === 0) return <p class="empty in-grid">There are no rows in this range.</p>;
  return (
    <div class="grid-scroll" tabIndex={-1}>
      <table class="grid" onKeyDown={moveFocus}>
        <caption class="visually-hidden">Rows of {table.tableName}. Arrow keys move between rows, Enter opens one.</caption>
        <thead>
          <tr>
            {table.primaryKey.map(({ name, type }) => <th key={name} scope="col" class={`key ${type === "INTEGER" ? "right" : ""}`}>{name}<span class="type">{type}</span></th>)}
            {columns.map(({ name, types, numeric }) => <th key={name} scope="col" class={numeric ? "right" : ""}>{name}<span class="type">{types.join(" · ")}</span></th>)}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, place) => (
            <tr key={keyText(row.primaryKey)} onFocusIn={() => focused(place)} onClick={(event) => {
              // To its button the focus comes back.
              event.currentTarget.querySelector("button")?.focus();
              onOpen(row);
            }}>
              {table.primaryKey.map(({ name }, at) => (
                <td key={name} class={`key ${isNumeric(row.primaryKey[name]) ? "right" : ""}`}>
                  {at > 0 ? <ValueText value={row.primaryKey[name]} /> : (
                    <button type="button" class="open-row" title="Open this row" onClick={(event) => { event.stopPropagation(); onOpen(row); }}><ValueText value={row.primaryKey[name]} /></button>
                  )}
                </td>
              ))}
              {columns.map(({ name, numeric }) => <td key={name} class={numeric ? "right" : ""}><ValueText value={row.get(name)} /></td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
