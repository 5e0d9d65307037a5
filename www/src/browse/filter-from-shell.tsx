/** A filter that was written in the shell, taken into the form. */

import { useState } from "preact/hooks";
import type { TableDescription } from "tabstore";

import type { FilterText } from "../lib/filters.ts";
import { filterFromShell } from "../lib/from-filter.ts";
import { useAction } from "../ui/action.ts";
import { Field } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";

/** The props. */
interface FilterFromShellProps {
  readonly table: TableDescription;
  readonly onFilter: (filter: FilterText) => void;
}

/** The field. */
export function FilterFromShell({ table, onFilter }: FilterFromShellProps) {
  const [typed, setTyped] = useState("");
  const action = useAction();
  return (
    <details class="same-as">
      <summary>From the shell …</summary>
      <div class="stack tight">
        <Field label="A line of the shell, or its filter" hint={'As in scan --filter \'{"column":"n","comparator":"EQUAL","value":1}\'.'}>
          {(ties) => (
            <textarea {...ties} class="filter-line" rows={2} value={typed} spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
          )}
        </Field>
        <ErrorNote error={action.error} />
        <div class="row">
          <button
            type="button"
            class="button small"
            aria-disabled={action.busy}
            onClick={() => action.run(async () => onFilter(await filterFromShell(typed, table)))}
          >
            Take it
          </button>
        </div>
      </div>
    </details>
  );
}
