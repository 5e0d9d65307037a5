/** The list of defined columns in a form. */

import type { DefinedColumn } from "tabstore";

import { VALUE_TYPES } from "../lib/values.ts";
import { Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";

/** The props of the list. */
interface DefinedEditorProps {
  readonly value: readonly DefinedColumn[];
  readonly onChange: (value: readonly DefinedColumn[]) => void;
}

/** The list. */
export function DefinedEditor({ value, onChange }: DefinedEditorProps) {
  const set = (at: number, change: Partial<DefinedColumn>) => onChange(value.map((one, place) => (place === at ? { ...one, ...change } : one)));
  return (
    <fieldset class="stack tight">
      <legend>Defined columns</legend>
      <ol class="key-editor">
        {value.map(({ name, type }, at) => (
          <li key={at}>
            <span class="place" aria-hidden="true">
              {at + 1}
            </span>
            <input
              type="text"
              aria-label={`Name of defined column ${at + 1}`}
              value={name}
              placeholder="name"
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set(at, { name: event.currentTarget.value })}
            />
            <Select label={`Type of defined column ${at + 1}`} value={type} options={VALUE_TYPES} onChange={(next) => set(at, { type: next })} />
            <button
              type="button"
              class="button quiet square"
              aria-label={`Remove defined column ${at + 1}`}
              onClick={() => onChange(value.filter((_, place) => place !== at))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
      <div class="row">
        <button type="button" class="button small" onClick={() => onChange([...value, { name: "", type: "STRING" }])}>
          <Icon name="add" /> Defined column
        </button>
        <span class="hint">Columns for indexes: their values have this type. All other columns stay free.</span>
      </div>
    </fieldset>
  );
}
