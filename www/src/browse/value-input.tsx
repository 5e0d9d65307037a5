/** The control in which a value of a type is typed. */

import type { ValueType } from "tabstore";

/** The props of the input. */
interface ValueInputProps {
  readonly type: ValueType;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly id?: string | undefined;
  /** Names it where no visible label does. */
  readonly label?: string | undefined;
}

const HINTS: Readonly<Record<ValueType, string>> = { STRING: "text", INTEGER: "0", DOUBLE: "0.5", BOOLEAN: "", BINARY: "0a ff" };

/** The control. */
export function ValueInput({ type, value, onInput, id, label }: ValueInputProps) {
  if (type === "BOOLEAN") {
    return (
      <select id={id} aria-label={label} value={value} onChange={(event) => onInput(event.currentTarget.value)}>
        <option value="" disabled>
          choose
        </option>
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  return (
    <input
      id={id}
      aria-label={label}
      type="text"
      name="value"
      value={value}
      placeholder={HINTS[type]}
      autocomplete="off"
      spellcheck={false}
      inputMode={type === "INTEGER" || type === "DOUBLE" ? "decimal" : undefined}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
