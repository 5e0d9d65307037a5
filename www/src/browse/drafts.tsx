/** The attribute columns of a row that is put, as they are typed. */

import type { InputCell, Row, Value, ValueType } from "tabstore";

import type { RowColumn } from "../lib/row-changes.ts";
import { parse, parseVersion, text, typeOf, VALUE_TYPES } from "../lib/values.ts";
import { Select } from "../ui/field.tsx";
import { Headings, HiddenHeading } from "../ui/headings.tsx";
import { Icon } from "../ui/icon.tsx";
import { useSome } from "../ui/some.tsx";
import { ValueInput } from "./value-input.tsx";

/** A cell as it is typed. */
export interface Draft {
  readonly id: number;
  readonly name: string;
  readonly type: ValueType;
  readonly value: string;
  readonly version: string;
}

/** How many are shown at first: each has four controls. */
const MOST_DRAFTS = 100;

let lastId = 0;

function draft(name = "", value?: Value): Draft {
  return { id: ++lastId, name, type: value === undefined ? "STRING" : typeOf(value), value: value === undefined ? "" : text(value), version: "" };
}

/** The newest values of a row; of a new one an empty draft. */
export function draftsOf(row: Row | undefined): readonly Draft[] {
  return row === undefined ? [draft()] : row.columnNames.map((name) => draft(name, row.get(name)));
}

/** The cells of the drafts, by column: several of one column are several versions. */
export function attributesOf(drafts: readonly Draft[]): Record<string, InputCell[]> {
  const attributes: Record<string, InputCell[]> = {};
  for (const { name, type, value, version } of drafts) {
    if (name === "" && value === "") continue;
    if (name === "") throw new Error(`The value “${value}” has no column.`);
    try {
      const at = parseVersion(version);
      (attributes[name] ??= []).push({ value: parse(type, value), ...(at === undefined ? {} : { version: at }) });
    } catch (error) {
      throw new Error(`Column ${name}: ${(error as Error).message}.`);
    }
  }
  return attributes;
}

/** The columns that the drafts want, to compare them with what is stored. */
export function wantedColumns(drafts: readonly Draft[]): readonly RowColumn[] {
  const columns = new Map<string, RowColumn>();
  for (const { name, type, value } of drafts) {
    const before = columns.get(name);
    if (name !== "") columns.set(name, { name, type, text: before === undefined ? value : `${before.text}, ${value}`, cells: [] });
  }
  return [...columns.values()];
}

function DraftRow({ value, onChange, onRemove }: { readonly value: Draft; readonly onChange: (value: Draft) => void; readonly onRemove: () => void }) {
  const about = value.name === "" ? "this column" : value.name;
  return (
    <tr role="row">
      <td role="cell">
        <input
          type="text"
          name="column"
          aria-label="Column"
          value={value.name}
          placeholder="column"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onChange({ ...value, name: event.currentTarget.value })}
        />
      </td>
      <td role="cell">
        <Select label={`Type of ${about}`} value={value.type} options={VALUE_TYPES} onChange={(type) => onChange({ ...value, type })} />
      </td>
      <td role="cell" class="whole">
        <ValueInput label={`Value of ${about}`} type={value.type} value={value.value} onInput={(typed) => onChange({ ...value, value: typed })} />
      </td>
      <td role="cell" class="version">
        <input
          type="text"
          name="version"
          aria-label={`Version of ${about}`}
          value={value.version}
          placeholder="the clock"
          autocomplete="off"
          onInput={(event) => onChange({ ...value, version: event.currentTarget.value })}
        />
      </td>
      <td role="cell">
        <button type="button" class="button quiet square" aria-label={`Leave out ${about}`} onClick={onRemove}>
          <Icon name="close" />
        </button>
      </td>
    </tr>
  );
}

/** The editor. What it does not show is sent all the same. */
export function DraftsEditor({ drafts, onChange }: { readonly drafts: readonly Draft[]; readonly onChange: (drafts: readonly Draft[]) => void }) {
  const { shown, grow, more } = useSome(drafts.length, MOST_DRAFTS, "columns");
  const add = () => {
    // A new one stands below those that are shown.
    onChange([...drafts.slice(0, shown), draft(), ...drafts.slice(shown)]);
    grow(1);
  };
  return (
    <fieldset class="stack tight">
      <legend>Attribute columns</legend>
      <div class="grid-scroll">
        <table class="grid editor" role="table">
          <Headings titles={["Column", "Type", "Value", "Version"]}>
            <HiddenHeading>Leave out</HiddenHeading>
          </Headings>
          <tbody role="rowgroup">
            {drafts.slice(0, shown).map((one) => (
              <DraftRow
                key={one.id}
                value={one}
                onChange={(changed) => onChange(drafts.map((before) => (before.id === one.id ? changed : before)))}
                onRemove={() => onChange(drafts.filter(({ id }) => id !== one.id))}
              />
            ))}
          </tbody>
        </table>
      </div>
      {more}
      <div class="row">
        <button type="button" class="button small" onClick={add}>
          <Icon name="add" /> Column
        </button>
        <span class="hint">The same column twice, with different versions, stores both. A row may have no columns at all.</span>
      </div>
    </fieldset>
  );
}
