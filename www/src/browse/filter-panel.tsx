/** The form in which a filter is built: a line for each condition. */

import { useEffect, useId, useState } from "preact/hooks";
import type { TableDescription, ValueType } from "tabstore";

import { COMPARATORS, type ConditionText, type FilterText, formatFilter, NEW_CONDITION, NO_FILTER, parseFilter, takesValue, toFilter } from "../lib/filters.ts";
import { VALUE_TYPES } from "../lib/values.ts";
import { navigate, route } from "../state/route.ts";
import { Check, Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import type { View } from "./paging.ts";
import { ValueInput } from "./value-input.tsx";
import type { KnownColumns } from "./view-bar.tsx";

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

/** The props of a condition. */
interface ConditionProps {
  readonly place: number;
  readonly value: ConditionText;
  /** The list of columns to choose from. */
  readonly columns: string;
  readonly typeOf: (column: string) => ValueType | undefined;
  readonly onChange: (value: ConditionText) => void;
  readonly onRemove: () => void;
}

function Condition({ place, value, columns, typeOf, onChange, onRemove }: ConditionProps) {
  const of = (what: string) => `${what} of condition ${place}`;
  const set = (change: Partial<ConditionText>) => onChange({ ...value, ...change });
  const compares = takesValue(value.comparator);
  return (
    <li class="condition">
      <Check checked={value.not} onChange={(not) => set({ not })}>
        not
      </Check>
      <input
        type="text"
        list={columns}
        aria-label={of("Column")}
        value={value.column}
        placeholder="column"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          const column = event.currentTarget.value;
          set({ column, type: typeOf(column) ?? value.type });
        }}
      />
      <Select label={of("Comparator")} value={value.comparator} options={COMPARATORS} onChange={(comparator) => set({ comparator })} />
      {compares && (
        <>
          <Select
            label={of("Type")}
            value={value.type}
            options={VALUE_TYPES}
            onChange={(type) => set({ type, text: type === "BOOLEAN" || value.type === "BOOLEAN" ? "" : value.text })}
          />
          <ValueInput label={of("Value")} type={value.type} value={value.text} onInput={(text) => set({ text })} />
          <Check checked={value.keepMissing} onChange={(keepMissing) => set({ keepMissing })}>
            or no such column
          </Check>
        </>
      )}
      <button type="button" class="button quiet square" aria-label={`Remove condition ${place}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </li>
  );
}

/** The panel. Conditions count when they are applied: by Enter, or by the button. */
export function FilterPanel({ table, view, known, onClose }: FilterPanelProps) {
  const [filter, setFilter] = useState<FilterText>(NO_FILTER);
  const [wrong, setWrong] = useState<unknown>();
  const id = useId();
  const { where } = route.value;
  useEffect(() => {
    const there = addressed();
    setFilter(there.conditions.length === 0 ? { any: false, conditions: [NEW_CONDITION] } : there);
    setWrong(undefined);
  }, [where]);
  const { any, conditions } = filter;
  const typeOf = (column: string) => table.primaryKey.find(({ name }) => name === column)?.type ?? known.get(column);
  const change = (next: readonly ConditionText[]) => setFilter({ any, conditions: next });
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
      {conditions.length > 1 && (
        <div class="row">
          <span>Rows that meet</span>
          <Select
            label="How the conditions are joined"
            value={any ? "any" : "all"}
            options={[
              ["all", "all of these"],
              ["any", "at least one of these"],
            ]}
            onChange={(join) => setFilter({ any: join === "any", conditions })}
          />
        </div>
      )}
      <ol class="conditions">
        {conditions.map((value, at) => (
          <Condition
            key={at}
            place={at + 1}
            value={value}
            columns={id}
            typeOf={typeOf}
            onChange={(one) => change(conditions.map((before, place) => (place === at ? one : before)))}
            onRemove={() => change(conditions.filter((_, place) => place !== at))}
          />
        ))}
      </ol>
      <p class="hint">The store compares types first: a value of another type never matches. Rows that are left out are read too, and cost the same units.</p>
      <div class="row">
        <button type="button" class="button small" onClick={() => change([...conditions, NEW_CONDITION])}>
          <Icon name="add" /> Condition
        </button>
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
    </form>
  );
}
