/** A control with its label, its hint and its error, tied together for screen readers. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** The attributes that the control inside a field must carry. */
export interface FieldTies {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

/** The props of a field. */
interface FieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly children: (ties: FieldTies) => ComponentChildren;
}

/** A labelled control. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const about = `${id}-about`;
  const described = hint !== undefined || error !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described ? about : undefined, "aria-invalid": error === undefined ? undefined : true })}
      {described && (
        <p id={about} class={error === undefined ? "hint" : "hint wrong"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

/** The props of a text field. */
interface TextFieldProps {
  readonly label: ComponentChildren;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly numeric?: boolean | undefined;
  readonly focused?: boolean | undefined;
  readonly name?: string | undefined;
  /** Whether its text is no work that could be lost. */
  readonly passing?: boolean | undefined;
}

/** A field for one line of text. */
export function TextField({ label, value, onInput, hint, error, placeholder, disabled, numeric, focused, name, passing }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ties) => (
        <input
          {...ties}
          type="text"
          name={name}
          value={value}
          placeholder={placeholder}
          disabled={disabled}
          autofocus={focused}
          inputMode={numeric ? "numeric" : undefined}
          autocomplete="off"
          spellcheck={false}
          data-passing={passing || undefined}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** The props of a choice. */
interface SelectProps<T extends string> {
  readonly value: T;
  readonly options: readonly (T | readonly [T, string])[];
  readonly onChange: (value: T) => void;
  readonly label?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly focused?: boolean | undefined;
  readonly id?: string | undefined;
}

/** A choice between few things. `label` names it where no visible label does. */
export function Select<T extends string>({ value, options, onChange, label, disabled, focused, id }: SelectProps<T>) {
  return (
    <select id={id} value={value} aria-label={label} disabled={disabled} autofocus={focused} onChange={(event) => onChange(event.currentTarget.value as T)}>
      {options.map((option) => {
        const [key, title] = typeof option === "string" ? [option, option] : option;
        return (
          <option key={key} value={key} selected={key === value}>
            {title}
          </option>
        );
      })}
    </select>
  );
}

/** The props of a check box. */
interface CheckProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ComponentChildren;
  readonly disabled?: boolean | undefined;
}

/** A check box with its label. */
export function Check({ checked, onChange, children, disabled }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}
