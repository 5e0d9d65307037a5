/** A list of columns in a form: each line with its place and a button that removes it; below, one that adds a line. */

import type { ComponentChildren } from "preact";

import { Icon } from "../ui/icon.tsx";

/** The props of the list. */
interface ColumnListProps<T> {
  readonly legend: string;
  /** Whether a title above it says what it is. */
  readonly titled?: boolean;
  readonly value: readonly T[];
  readonly onChange: (value: readonly T[]) => void;
  /** What a line is about, by its place from 1: `key column 1`. */
  readonly about: (place: number) => string;
  /** What a line has between its place and the button. `set` replaces it. */
  readonly line: (one: T, about: string, set: (next: T) => void, at: number) => ComponentChildren;
  /** A new line, and what the button that adds it says. */
  readonly fresh: T;
  readonly adds: string;
  readonly hint: string;
  /** So many lines stay. */
  readonly least?: number;
  readonly most?: number;
}

/** The list. */
export function ColumnList<T>({ legend, titled = false, value, onChange, about, line, fresh, adds, hint, least = 0, most = Infinity }: ColumnListProps<T>) {
  return (
    <fieldset class="stack tight">
      <legend class={titled ? "visually-hidden" : undefined}>{legend}</legend>
      <ol class="key-editor">
        {value.map((one, at) => (
          <li key={at}>
            <span class="place" aria-hidden="true">
              {at + 1}
            </span>
            {line(one, about(at + 1), (next) => onChange(value.map((before, place) => (place === at ? next : before))), at)}
            <button
              type="button"
              class="button quiet square"
              aria-label={`Remove ${about(at + 1)}`}
              disabled={value.length <= least}
              onClick={() => onChange(value.filter((_, place) => place !== at))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
      <div class="row">
        <button type="button" class="button small" disabled={value.length >= most} onClick={() => onChange([...value, fresh])}>
          <Icon name="add" /> {adds}
        </button>
        <span class="hint">{hint}</span>
      </div>
    </fieldset>
  );
}

/** The field of a column's name. */
export function NameInput({
  about,
  name,
  value,
  onInput,
}: {
  readonly about: string;
  readonly name?: string;
  readonly value: string;
  readonly onInput: (name: string) => void;
}) {
  return (
    <input
      type="text"
      name={name}
      aria-label={`Name of ${about}`}
      value={value}
      placeholder="name"
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}
