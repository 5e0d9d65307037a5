/** The properties of an entity, to be edited: name, type and value of each. */

import { EDM_TYPES, type EdmType, type Property } from "../lib/entities.ts";
import { Select } from "../ui/field.tsx";
import { Headings, HiddenHeading } from "../ui/headings.tsx";
import { Icon } from "../ui/icon.tsx";

/** A property as it is typed. */
export interface Draft extends Property {
  readonly id: number;
  /** Whether its name was typed here. */
  readonly fresh: boolean;
}

let lastId = 0;

/** A draft of a property; of none: a new one. */
export function draft(property?: Property): Draft {
  return { ...(property ?? { name: "", type: "String", text: "" }), id: ++lastId, fresh: property === undefined };
}

/** The properties of drafts. Those that are still empty are none. */
export function propertiesOf(drafts: readonly Draft[]): readonly Property[] {
  return drafts.filter(({ name, text, fresh }) => !(fresh && name === "" && text === "")).map(({ name, type, text }) => ({ name, type, text }));
}

const HINTS: Readonly<Record<EdmType, string>> = {
  String: "text",
  Int32: "0",
  Int64: "0",
  Double: "0.5, NaN, Infinity",
  Boolean: "",
  DateTime: "2026-11-25T08:00:00Z",
  Binary: "base64: AQL/",
  Guid: "00000000-0000-0000-0000-000000000000",
};

function ValueField({
  value: { type, text },
  label,
  focused,
  onInput,
}: {
  readonly value: Draft;
  readonly label: string;
  readonly focused: boolean;
  readonly onInput: (text: string) => void;
}) {
  if (type === "Boolean") return <Select label={label} value={text} options={["true", "false"]} focused={focused} onChange={onInput} />;
  // A field of one line would lose the others.
  if (type === "String" && /[\r\n]/.test(text))
    return (
      <textarea
        aria-label={label}
        autofocus={focused}
        name="value"
        rows={3}
        value={text}
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    );
  return (
    <input
      type="text"
      name="value"
      aria-label={label}
      autofocus={focused}
      value={text}
      placeholder={HINTS[type]}
      autocomplete="off"
      spellcheck={false}
      inputMode={type === "Int32" || type === "Int64" || type === "Double" ? "decimal" : undefined}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

/** The value that a text becomes when its property gets another type. */
function retyped(value: Draft, type: EdmType): Draft {
  return { ...value, type, text: type === "Boolean" && value.text !== "false" ? "true" : value.text };
}

/** The props of the editor. */
interface PropertyEditorProps {
  readonly value: readonly Draft[];
  readonly onChange: (value: readonly Draft[]) => void;
  /** Whether the focus begins at its first value. */
  readonly focused?: boolean | undefined;
}

/** The editor. */
export function PropertyEditor({ value, onChange, focused = false }: PropertyEditorProps) {
  const set = (id: number, changed: Draft) => onChange(value.map((one) => (one.id === id ? changed : one)));
  return (
    <fieldset class="stack tight">
      <legend>Properties</legend>
      {value.length > 0 && (
        <div class="grid-scroll">
          <table class="grid editor properties" role="table">
            <Headings titles={["Name", "Type", "Value"]}>
              <HiddenHeading>Leave out</HiddenHeading>
            </Headings>
            <tbody role="rowgroup">
              {value.map((one, at) => {
                const about = one.name === "" ? "this property" : one.name;
                return (
                  <tr key={one.id} role="row">
                    {one.fresh ? (
                      <td role="cell">
                        <input
                          type="text"
                          name="property"
                          aria-label="Property"
                          value={one.name}
                          placeholder="name"
                          autocomplete="off"
                          spellcheck={false}
                          onInput={(event) => set(one.id, { ...one, name: event.currentTarget.value })}
                        />
                      </td>
                    ) : (
                      <th role="rowheader" scope="row" class="property-name">
                        {one.name}
                      </th>
                    )}
                    <td role="cell">
                      <Select label={`Type of ${about}`} value={one.type} options={EDM_TYPES} onChange={(type) => set(one.id, retyped(one, type))} />
                    </td>
                    <td role="cell" class="whole">
                      <ValueField value={one} label={`Value of ${about}`} focused={focused && at === 0} onInput={(text) => set(one.id, { ...one, text })} />
                    </td>
                    <td role="cell">
                      <button
                        type="button"
                        class="button quiet square"
                        aria-label={`Leave out ${about}`}
                        title="Leave out"
                        onClick={() => onChange(value.filter(({ id }) => id !== one.id))}
                      >
                        <Icon name="close" />
                      </button>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {value.length === 0 && <p class="empty">No properties but the keys.</p>}
      <div class="row">
        <button type="button" class="button small" onClick={() => onChange([...value, draft()])}>
          <Icon name="add" /> Property
        </button>
      </div>
    </fieldset>
  );
}
