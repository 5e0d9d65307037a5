/** What else a new table can have: defined columns, indexes, a stream, local transactions. */

import type { KeyColumn } from "tabstore";

import { type MoreText, NEW_INDEX } from "../lib/table-schema.ts";
import { Check } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { DefinedEditor } from "./defined-editor.tsx";
import { IndexFields } from "./index-fields.tsx";
import { StreamFields } from "./stream-fields.tsx";

/** The props of the fields. */
export interface MoreFieldsProps {
  readonly primaryKey: readonly KeyColumn[];
  readonly value: MoreText;
  readonly onChange: (value: MoreText) => void;
}

/** The fields. */
export function MoreFields({ primaryKey, value, onChange }: MoreFieldsProps) {
  const { definedColumns, indexes, stream, transactions } = value;
  const set = (change: Partial<MoreText>) => onChange({ ...value, ...change });
  const assigned = primaryKey.some(({ autoIncrement }) => autoIncrement);
  return (
    <div class="stack">
      <DefinedEditor value={definedColumns} onChange={(next) => set({ definedColumns: next })} />
      {indexes.map((index, at) => (
        <section key={at} class="stack tight" aria-label={`Index ${at + 1}`}>
          <div class="row">
            <h3>Index {at + 1}</h3>
            <button type="button" class="button small push" onClick={() => set({ indexes: indexes.filter((_, place) => place !== at) })}>
              Remove it
            </button>
          </div>
          <IndexFields
            table={{ primaryKey, definedColumns }}
            value={index}
            onChange={(next) => set({ indexes: indexes.map((before, place) => (place === at ? next : before)) })}
          />
        </section>
      ))}
      <div class="row">
        <button type="button" class="button small" onClick={() => set({ indexes: [...indexes, NEW_INDEX] })}>
          <Icon name="add" /> Index
        </button>
        <span class="hint">The rows in another order, kept by the store. It needs one version, and no time to live or no UpdateRow.</span>
      </div>
      <StreamFields value={stream} onChange={(next) => set({ stream: next })} />
      <Check checked={transactions && !assigned} disabled={assigned} onChange={(next) => set({ transactions: next })}>
        Allow local transactions{assigned && ": never with a column that the store assigns"}
      </Check>
    </div>
  );
}
