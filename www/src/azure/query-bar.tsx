/** Which entities are read, and which of their properties. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";

import { Check } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";

/** The choice of the columns: of each property that has been seen. */
function ColumnChoice({
  names,
  select,
  onSelect,
}: {
  readonly names: readonly string[];
  readonly select: readonly string[] | undefined;
  readonly onSelect: (select: readonly string[] | undefined) => void;
}) {
  const set = (name: string, checked: boolean) => {
    const chosen = names.filter((one) => (one === name ? checked : select === undefined || select.includes(one)));
    onSelect(chosen.length === names.length ? undefined : chosen);
  };
  return (
    <div class="query-line query-columns" role="group" aria-label="Columns">
      <span class="hint">
        <code>$select</code> The keys are always read.
      </span>
      {names.map((name) => (
        <Check key={name} checked={select === undefined || select.includes(name)} onChange={(checked) => set(name, checked)}>
          {name}
        </Check>
      ))}
      <div class="row push">
        <button type="button" class="button small" onClick={() => onSelect(undefined)}>
          All
        </button>
        <button type="button" class="button small" onClick={() => onSelect([])}>
          Keys only
        </button>
      </div>
    </div>
  );
}

/** The props of the bar. */
interface QueryBarProps {
  readonly filter: string | undefined;
  readonly select: readonly string[] | undefined;
  /** The properties that have been seen. */
  readonly known: readonly string[];
  /** Filters to try. */
  readonly examples: readonly string[];
  /** What the service says of the filter. */
  readonly error: unknown;
  readonly onQuery: (filter: string | undefined) => void;
  readonly onSelect: (select: readonly string[] | undefined) => void;
  /** Buttons at its end. */
  readonly children: ComponentChildren;
}

/** The bar. A filter counts when it is applied: by Enter, or by the button. */
export function QueryBar({ filter, select, known, examples, error, onQuery, onSelect, children }: QueryBarProps) {
  const [typed, setTyped] = useState(filter ?? "");
  // The address may change without us: by the back button, or by an example.
  useEffect(() => setTyped(filter ?? ""), [filter]);
  const [choosing, setChoosing] = useState(false);
  const names = [...new Set([...known, "Timestamp", ...(select ?? [])])].sort();
  const id = useId();
  const wrong = error !== undefined;
  return (
    <form
      class="range-bar query-bar"
      onSubmit={(event) => {
        event.preventDefault();
        onQuery(typed.trim() === "" ? undefined : typed);
      }}
    >
      <div class="field query-filter">
        <label for={id}>
          Filter <span class="faint">$filter</span>
        </label>
        <input
          id={id}
          type="text"
          name="filter"
          value={typed}
          placeholder="none: all entities"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={wrong ? true : undefined}
          aria-describedby={wrong ? `${id}-error` : undefined}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </div>
      <div class="row range-actions">
        <button type="submit" class="button">
          Run query
        </button>
        {filter !== undefined && (
          <button type="button" class="button quiet" onClick={() => onQuery(undefined)}>
            All entities
          </button>
        )}
        <button type="button" class="button columns-toggle" aria-expanded={choosing} onClick={() => setChoosing(!choosing)}>
          Columns: {select === undefined ? "all" : `${select.length} of ${names.length}`} <Icon name="down" />
        </button>
      </div>
      <div class="row range-actions push">{children}</div>
      {wrong && (
        <div id={`${id}-error`} class="query-line">
          <ErrorNote error={error} />
        </div>
      )}
      {choosing && <ColumnChoice names={names} select={select} onSelect={onSelect} />}
      {examples.length > 0 && (
        <div class="query-line query-examples" role="group" aria-label="Filters to try">
          <span class="hint">Try</span>
          {examples.map((one, at) => (
            <button
              key={one}
              type="button"
              class="button small"
              title={at === examples.length - 1 ? "A wrong one: the service refuses it" : undefined}
              aria-pressed={one === filter}
              onClick={() => onQuery(one)}
            >
              <code>{one}</code>
            </button>
          ))}
        </div>
      )}
    </form>
  );
}
