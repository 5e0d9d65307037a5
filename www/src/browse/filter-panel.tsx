/** The form in which a filter is built: a line for each condition, in groups. */

import { useEffect, useId, useState } from "preact/hooks";
import type { TableDescription } from "tabstore";

import { type FilterText, formatFilter, NEW_CONDITION, NO_FILTER, parseFilter, toFilter } from "../lib/filters.ts";
import { navigate, route } from "../state/route.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { FilterFromShell } from "./filter-from-shell.tsx";
import { FilterGroup } from "./filter-group.tsx";
import type { KnownColumns, View } from "./paging.ts";

/** The props of the panel. */
export interface FilterPanelProps {
  readonly table: TableDescription;
  readonly view: View | undefined;
  readonly known: KnownColumns;
  readonly onClose: () => void;
}

/** The filter of the address; one that cannot be read is begun anew. */
function addressed(): FilterText {
  try {
    return parseFilter(route.value.where);
  } catch {
    return NO_FILTER;
  }
}

/** The panel. Conditions count when they are applied: by Enter, or by the button. */
export function FilterPanel({ table, view, known, onClose }: FilterPanelProps) {
  const [filter, setFilter] = useState<FilterText>(NO_FILTER);
  const [wrong, setWrong] = useState<unknown>();
  const id = useId();
  const { where } = route.value;
  useEffect(() => {
    const there = addressed();
    setFilter(there.parts.length === 0 ? { ...NO_FILTER, parts: [NEW_CONDITION] } : there);
    setWrong(undefined);
  }, [where]);
  const typeOf = (column: string) => table.primaryKey.find(({ name }) => name === column)?.type ?? known.get(column);
  const apply = (next: FilterText) => {
    try {
      toFilter(next);
      setWrong(undefined);
      navigate({ ...route.value, where: formatFilter(next) });
    } catch (error) {
      setWrong(error);
    }
  };
  return (
    <form
      class="range-bar filter-panel"
      aria-label="Filter"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        apply(filter);
      }}
    >
      <datalist id={id}>
        {[...table.primaryKey.map(({ name }) => name), ...known.keys()].slice(0, 200).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <FilterGroup place="" value={filter} columns={id} typeOf={typeOf} onChange={setFilter} />
      <div class="row">
        <button type="submit" class="button small primary">
          Apply filter
        </button>
        {where !== undefined && (
          <button type="button" class="button small quiet" onClick={() => apply(NO_FILTER)}>
            All rows
          </button>
        )}
        <button type="button" class="button small quiet push" onClick={onClose}>
          Close
        </button>
      </div>
      <ErrorNote error={wrong} />
      <p class="hint">A value of another type never matches. Rows that are left out are read too, and cost the same units.</p>
      <div class="filter-more">
        <FilterFromShell table={table} onFilter={setFilter} />
        {view !== undefined && (
          <SameAs
            lead="What is shown is the same as"
            request={{
              operation: "scan",
              request: {
                tableName: view.tableName,
                direction: view.direction,
                limit: view.limit,
                ...(view.start && { start: view.start }),
                ...(view.end && { end: view.end }),
                ...(view.filter && { filter: view.filter }),
              },
            }}
            table={table}
          />
        )}
      </div>
    </form>
  );
}
