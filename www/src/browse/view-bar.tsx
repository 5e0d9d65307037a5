/** What of the range is shown: which rows by their columns, which columns, and how many rows there are. */

import { useEffect, useState } from "preact/hooks";
import type { Consumed, TableDescription } from "tabstore";

import { count, counted } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { navigate, route } from "../state/route.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Icon } from "../ui/icon.tsx";
import { lazily } from "../ui/lazily.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import type { ColumnChooserProps } from "./column-chooser.tsx";
import type { FilterPanelProps } from "./filter-panel.tsx";
import { type KnownColumns, partOf, type View } from "./paging.ts";

const FilterPanel = lazily<FilterPanelProps>(async () => (await import("./filter-panel.tsx")).FilterPanel);
const ColumnChooser = lazily<ColumnChooserProps>(async () => (await import("./column-chooser.tsx")).ColumnChooser);

/** The props of the bar. */
interface ViewBarProps {
  readonly table: TableDescription;
  /** What is read; nothing while the address is wrong. */
  readonly view: View | undefined;
  readonly known: KnownColumns;
  /** How many conditions the filter has. */
  readonly conditions: number;
  /** Asks whether all of the rows are to be deleted; an index has no rows of its own to delete. */
  readonly onDelete: (() => void) | undefined;
}

/** The number of rows of a view, and what it cost to count them. */
interface Counted {
  readonly view: View;
  readonly count: number;
  readonly consumed: Consumed;
}

/** Counts the rows of a view, all pages together. */
async function countRows(view: View): Promise<Counted> {
  const { tableName } = view;
  const request = { tableName, ...partOf(view) };
  return { view, ...(await logged("CountRows", `${tableName}, by db.count`, () => database().count(request))) };
}

/** The bar. */
export function ViewBar({ table, view, known, conditions, onDelete }: ViewBarProps) {
  const [open, setOpen] = useState<"filter" | "columns">();
  const [found, setFound] = useState<Counted>();
  const action = useAction();
  useEffect(() => action.fail(undefined), [view]);
  const { columns } = route.value;
  const toggle = (panel: "filter" | "columns", text: string) => (
    <button type="button" class="button small" aria-expanded={open === panel} onClick={() => setOpen(open === panel ? undefined : panel)}>
      {text} <Icon name="down" />
    </button>
  );
  return (
    <div class="stack tight">
      <div class="row view-bar">
        {toggle("filter", `Filter: ${conditions === 0 ? "none" : counted(conditions, "condition")}`)}
        {toggle("columns", `Columns: ${columns === undefined ? "all" : count(columns.length)}`)}
        <button
          type="button"
          class="button small"
          aria-disabled={action.busy || view === undefined}
          onClick={() => view !== undefined && action.run(async () => setFound(await countRows(view)))}
        >
          Count rows
        </button>
        {onDelete !== undefined && (
          <button type="button" class="button small" aria-disabled={view === undefined} onClick={() => view !== undefined && onDelete()}>
            Delete range
          </button>
        )}
        <span role="status" class="hint">
          {action.busy && "Counting …"}
          {!action.busy &&
            found !== undefined &&
            found.view === view &&
            `${counted(found.count, "row")} ${conditions > 0 ? (found.count === 1 ? "matches" : "match") : "in this range"}: counted with ${counted(found.consumed.read, "read unit")}`}
        </span>
      </div>
      <ErrorNote error={action.error} />
      {open === "filter" && <FilterPanel table={table} view={view} known={known} onClose={() => setOpen(undefined)} />}
      {open === "columns" && (
        <ColumnChooser known={[...known.keys()]} chosen={columns} onChange={(chosen) => navigate({ ...route.value, columns: chosen }, true)} />
      )}
    </div>
  );
}
