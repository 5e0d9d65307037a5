/** The rows of a page as a table: key columns first, then the chosen columns, or every column that any of the rows has. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row, TableDescription, ValueType } from "tabstore";

import type { CellEdit, Edits } from "../lib/edits.ts";
import { keyId, keyText } from "../lib/keys.ts";
import { typeIn } from "../lib/values.ts";
import { ColumnHeadings } from "../ui/headings.tsx";
import { CellEditor, EditText } from "./cell.tsx";
import { moveBetweenCells } from "./cell-focus.ts";
import { ColumnWidths, type Partly, Skipped, useColumnWindow } from "./column-window.tsx";
import { cellOf, useFocusedCell, useRowFocus } from "./row-focus.ts";
import { isNumeric, ValueText } from "./value.tsx";

/** The props of the grid. */
interface GridProps {
  readonly table: TableDescription;
  readonly rows: readonly Row[];
  /** The attribute columns that are shown, in order; `undefined`: all that the rows have, by name. */
  readonly chosen: readonly string[] | undefined;
  readonly onOpen: (row: Row) => void;
  /** The changes that are not saved. */
  readonly edits: Edits;
  /** Takes a change of a cell; without it the rows cannot be edited here. */
  readonly onEdit: ((row: Row, column: string, edit: CellEdit) => void) | undefined;
  /** The columns that others have changed lately, by the ids of the rows. */
  readonly marks: ReadonlyMap<string, ReadonlySet<string>>;
  /** The rows that are chosen, by their ids. */
  readonly chosenRows: ReadonlyMap<string, Row>;
  /** Chooses rows, or takes them out; without it rows cannot be chosen. */
  readonly onChoose: ((rows: readonly Row[], chosen: boolean) => void) | undefined;
}

/** A column with the types that its values have in these rows. */
interface Column {
  readonly name: string;
  readonly types: readonly ValueType[];
  readonly numeric: boolean;
}

function columnOf(rows: readonly Row[], name: string): Column {
  const types = [...new Set(rows.flatMap((row) => typeIn(row, name) ?? []))];
  return { name, types, numeric: types.every((type) => type === "INTEGER" || type === "DOUBLE") };
}

/** The props of the head. */
interface HeadProps {
  readonly table: TableDescription;
  readonly columns: readonly Column[];
  /** Which columns are drawn; nothing if they are all. */
  readonly partly: Partly | undefined;
  /** Whether all rows are chosen. */
  readonly chosen: boolean;
  readonly onChoose: ((chosen: boolean) => void) | undefined;
}

function Head({ table, columns, partly, chosen, onChoose }: HeadProps) {
  return (
    <thead>
      <tr>
        {table.primaryKey.map(({ name, type }, at) => (
          <th key={name} scope="col" class={`key ${type === "INTEGER" ? "right" : ""}`}>
            {at === 0 && onChoose !== undefined && (
              <input type="checkbox" class="choose" aria-label="Choose all rows of this page" checked={chosen} onClick={() => onChoose(!chosen)} />
            )}
            {name}
            <span class="type">{type}</span>
          </th>
        ))}
        <Skipped width={partly?.before} />
        <ColumnHeadings columns={columns} first={partly === undefined ? undefined : table.primaryKey.length + partly.first + 1} />
        <Skipped width={partly?.after} />
      </tr>
    </thead>
  );
}

/** The props of the cells of a key. */
interface KeyCellsProps {
  readonly table: TableDescription;
  readonly row: Row;
  readonly chosen: boolean;
  readonly onChoose: ((chosen: boolean, toHere: boolean) => void) | undefined;
}

/** The cells of a row's key. The first has the button that opens the row. */
function KeyCells({ table, row, chosen, onChoose }: KeyCellsProps) {
  return table.primaryKey.map(({ name }, at) => (
    <td key={name} class={`key ${isNumeric(row.primaryKey[name]) ? "right" : ""}`}>
      {at === 0 && onChoose !== undefined && (
        <input
          type="checkbox"
          class="choose"
          // Arrow keys go to it: the tab key has the rows to pass.
          tabIndex={-1}
          aria-label={`Choose row ${keyText(row.primaryKey)}`}
          checked={chosen}
          onClick={(event) => onChoose(event.currentTarget.checked, event.shiftKey)}
        />
      )}
      {at > 0 ? (
        <ValueText value={row.primaryKey[name]} />
      ) : (
        <button type="button" class="open-row" title="Open this row">
          <ValueText value={row.primaryKey[name]} />
        </button>
      )}
    </td>
  ));
}

/** A cell that is edited, by the place of its row and its column. */
interface Editing {
  readonly id: string;
  readonly column: string;
}

/** The cell that an event comes from; there are thousands, so the table listens for all of them. */
function cellAt(event: Event): { readonly place: number; readonly column: string | undefined; readonly cell: HTMLTableCellElement | null } | undefined {
  const target = event.target instanceof Element ? event.target : undefined;
  const row = target?.closest("tr");
  if (!row || target?.closest("form, label, input")) return undefined;
  const cell = target?.closest("td") ?? null;
  return { place: row.sectionRowIndex, column: cell?.dataset.column, cell };
}

/** The grid. A row opens by its first cell, which is a button, or by a click into its key; other cells are edited. */
export function Grid({ table, rows, chosen, onOpen, edits, onEdit, chosenRows, onChoose, marks }: GridProps) {
  const all = useMemo(() => chosen ?? [...new Set(rows.flatMap((row) => row.columnNames))].sort(), [rows, chosen]);
  const [editing, setEditing] = useState<Editing>();
  const scroller = useRef<HTMLDivElement>(null);
  const pressed = useRef<ReturnType<typeof cellAt>>(undefined);
  const keys = table.primaryKey.length;
  const { names, partly, pager, onScroll } = useColumnWindow(all, rows.length, keys, scroller, editing !== undefined);
  const columns = useMemo(() => names.map((name) => columnOf(rows, name)), [rows, names.join()]);
  const ids = useMemo(() => rows.map((row) => keyId(table.primaryKey, row.primaryKey)), [rows]);
  const { body, focused } = useRowFocus(rows);
  useFocusedCell(body, partly !== undefined);
  /** The place of the row that was chosen last: from it the shift key chooses all rows to another one. */
  const [anchor, setAnchor] = useState(0);
  const choose = (place: number, chosen: boolean, toHere: boolean) => {
    onChoose?.(toHere ? rows.slice(Math.min(anchor, place), Math.max(anchor, place) + 1) : rows.slice(place, place + 1), chosen);
    setAnchor(place);
  };
  /** The cell that was left, to which the focus comes back. */
  const [left, setLeft] = useState<Editing>();
  useLayoutEffect(() => {
    const row = left === undefined ? undefined : body.current?.rows[ids.indexOf(left.id)];
    cellOf(row, left?.column)?.focus();
  }, [left]);
  if (rows.length === 0) return <p class="empty in-grid">There are no rows in this range.</p>;
  const begin = (event: Event, opens: boolean) => {
    // If the cell before was left by this press, and its row shrank, the press and its end are on two cells: the first one is meant.
    const isBetween = event.target instanceof HTMLTableRowElement || event.target === event.currentTarget;
    const at = isBetween ? pressed.current : cellAt(event);
    const row = rows[at?.place ?? -1];
    if (at === undefined || row === undefined) return;
    if (onEdit !== undefined && at.column !== undefined) {
      event.preventDefault();
      setEditing({ id: ids[at.place] ?? "", column: at.column });
    } else if (opens) {
      // To its button the focus comes back.
      body.current?.rows[at.place]?.querySelector<HTMLElement>(".open-row")?.focus();
      onOpen(row);
    }
  };
  const end = () => {
    // The focus goes back to the cell, unless it went elsewhere by a click.
    if (body.current?.querySelector(".cell-edit")?.contains(document.activeElement)) setLeft(editing);
    setEditing(undefined);
  };
  return (
    <>
      {pager}
      <div ref={scroller} class="grid-scroll" tabIndex={-1} onScroll={onScroll}>
        <table
          class={partly === undefined ? "grid" : "grid wide"}
          style={partly === undefined ? undefined : { width: `${partly.width}px` }}
          aria-colcount={partly === undefined ? undefined : keys + partly.columns}
        >
          <caption class="visually-hidden">
            Rows of {table.tableName}. Arrow keys move between cells. Space chooses a row at its box. Enter opens a row
            {onEdit !== undefined && ", or edits a cell"}.
          </caption>
          {partly !== undefined && <ColumnWidths partly={partly} keys={keys} drawn={names.length} />}
          <Head
            table={table}
            columns={columns}
            partly={partly}
            chosen={ids.every((id) => chosenRows.has(id))}
            onChoose={onChoose && ((chosen) => onChoose(rows, chosen))}
          />
          <tbody
            ref={body}
            onFocusIn={(event) => {
              focused((event.target as Element).closest("tr")?.sectionRowIndex ?? 0);
              // The focus has scrolled. To wait for the event that tells so would leave the next key without a cell to go to.
              onScroll();
            }}
            onPointerDown={(event) => {
              pressed.current = cellAt(event);
            }}
            onClick={(event) => begin(event, true)}
            onKeyDown={(event) => {
              if (event.key === "F2" || (event.key === "Enter" && event.target instanceof HTMLTableCellElement)) begin(event, false);
              else moveBetweenCells(event);
            }}
          >
            {rows.map((row, place) => {
              const id = ids[place] ?? "";
              const edited = edits.get(id);
              const mark = marks.get(id);
              return (
                <tr
                  key={id}
                  class={`${edited?.now === undefined ? "" : "conflicted"}${chosenRows.has(id) ? " chosen" : ""}${mark === undefined ? "" : " marked"}`}
                >
                  <KeyCells table={table} row={row} chosen={chosenRows.has(id)} onChoose={onChoose && ((chosen, toHere) => choose(place, chosen, toHere))} />
                  <Skipped width={partly?.before} />
                  {columns.map(({ name, types, numeric }, at) => {
                    const edit = edited?.cells.get(name);
                    const isEditing = editing?.id === id && editing.column === name;
                    return (
                      <td
                        key={name}
                        class={isEditing ? "editing" : `${numeric ? "right" : ""}${edit === undefined ? "" : " edited"}${mark?.has(name) ? " changed" : ""}`}
                        tabIndex={onEdit === undefined ? undefined : -1}
                        data-column={name}
                        aria-colindex={partly === undefined ? undefined : keys + partly.first + at + 1}
                      >
                        {isEditing && onEdit !== undefined ? (
                          <CellEditor row={row} column={name} likely={types[0]} edit={edit} onEdit={(change) => onEdit(row, name, change)} onEnd={end} />
                        ) : edit === undefined ? (
                          <ValueText value={row.get(name)} />
                        ) : (
                          <>
                            <EditText edit={edit} most={120} />
                            <span class="visually-hidden"> (not saved)</span>
                          </>
                        )}
                      </td>
                    );
                  })}
                  <Skipped width={partly?.after} />
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
