/** A list of columns to define, in a form. */

import type { DefinedColumn } from "tabstore";

import { VALUE_TYPES } from "../lib/values.ts";
import { Select } from "../ui/field.tsx";
import { ColumnList, NameInput } from "./column-list.tsx";

/** The props of the list. */
interface DefinedEditorProps {
  readonly value: readonly DefinedColumn[];
  readonly onChange: (value: readonly DefinedColumn[]) => void;
  readonly legend?: string;
  /** Whether a title above it says what it is. */
  readonly titled?: boolean;
}

/** The list. */
export function DefinedEditor({ value, onChange, legend = "Defined columns", titled = false }: DefinedEditorProps) {
  return (
    <ColumnList
      legend={legend}
      titled={titled}
      value={value}
      onChange={onChange}
      about={(place) => `defined column ${place}`}
      line={({ name, type }, about, set) => (
        <>
          <NameInput about={about} value={name} onInput={(next) => set({ name: next, type })} />
          <Select label={`Type of ${about}`} value={type} options={VALUE_TYPES} onChange={(next) => set({ name, type: next })} />
        </>
      )}
      fresh={{ name: "", type: "STRING" }}
      adds="Defined column"
      hint="Columns for indexes: their values have this type. All other columns stay free."
    />
  );
}
