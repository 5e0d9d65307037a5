/** The rows of a page as a table: key columns first, then the chosen columns, or every column that any of the rows has. */

import { useMemo } from "preact/hooks";
import type { Row, TableDescription, ValueType } from "tabstore";

import { keyId } from "../lib/keys.ts";
import { useColumns } from "../ui/column-pager.tsx";
import { moveFocus, useRowFocus } from "./row-focus.ts";
import { isNumeric, ValueText } from "./value.tsx";

/** The props of the grid. */
interface GridProps {
  readonly table: TableDescription;
  readonly rows: readonly Row[];
  /** The attribute columns that are shown, in order; `undefined`: all that the rows have, by name. */
  readonly chosen: readonly string[] | undefined;
  readonly onOpen: (row: Row) => void;
}

/** A column with the types that its values have in these rows. */
function columnOf(rows: readonly Row[], name: string): { readonly name: string; readonly types: readonly ValueType[]; readonly numeric: boolean } {
  const types = [...new Set(rows.flatMap((row) => row.type(name) ?? []))];
  return { name, types, numeric: types.every((type) => type === "INTEGER" || type === "DOUBLE") };
}

/** The grid. A row opens by its first cell, which is a button, or by a click anywhere in it. */
export function Grid({ table, rows, chosen, onOpen }: GridProps) {
  const all = useMemo(() => chosen ?? [...new Set(rows.flatMap((row) => row.columnNames))].sort(), [rows, chosen]);
  const { names, pager } = useColumns(all, rows.length);
  const columns = useMemo(() => names.map((name) => columnOf(rows, name)), [rows, names.join()]);
  const { body, focused } = useRowFocus(rows);
  if (rows.length === 0) return <p class="empty in-grid">There are no rows in this range.</p>;
  return (
    <>
      {pager}
      <div class="grid-scroll" tabIndex={-1}>
        <table class="grid" onKeyDown={moveFocus}>
          <caption class="visually-hidden">Rows of {table.tableName}. Arrow keys move between rows, Enter opens one.</caption>
          <thead>
            <tr>
              {table.primaryKey.map(({ name, type }) => (
                <th key={name} scope="col" class={`key ${type === "INTEGER" ? "right" : ""}`}>
                  {name}
                  <span class="type">{type}</span>
                </th>
              ))}
              {columns.map(({ name, types, numeric }) => (
                <th key={name} scope="col" class={numeric ? "right" : ""}>
                  {name}
                  <span class="type">{types.join(" · ")}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody ref={body}>
            {rows.map((row, place) => (
              <tr
                key={keyId(table.primaryKey, row.primaryKey)}
                onFocusIn={() => focused(place)}
                onClick={(event) => {
                  // To its button the focus comes back.
                  event.currentTarget.querySelector("button")?.focus();
                  onOpen(row);
                }}
              >
                {table.primaryKey.map(({ name }, at) => (
                  <td key={name} class={`key ${isNumeric(row.primaryKey[name]) ? "right" : ""}`}>
                    {at > 0 ? (
                      <ValueText value={row.primaryKey[name]} />
                    ) : (
                      <button
                        type="button"
                        class="open-row"
                        title="Open this row"
                        onClick={(event) => {
                          event.stopPropagation();
                          onOpen(row);
                        }}
                      >
                        <ValueText value={row.primaryKey[name]} />
                      </button>
                    )}
                  </td>
                ))}
                {columns.map(({ name, numeric }) => (
                  <td key={name} class={numeric ? "right" : ""}>
                    <ValueText value={row.get(name)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
