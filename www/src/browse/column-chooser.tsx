/**
 * Which columns of the rows are shown, and in which order.
 *
 * It only hides. A read of chosen columns costs the same units, leaves rows out that have none of them, and a filter would miss the others.
 */

import { useState } from "preact/hooks";

import { count } from "../lib/format.ts";
import { Check } from "../ui/field.tsx";
import { PageButton } from "../ui/page-button.tsx";
import { useSome } from "../ui/some.tsx";

/** The props of the chooser. */
export interface ColumnChooserProps {
  /** The attribute columns of the rows shown. */
  readonly known: readonly string[];
  /** Those that are shown, in order; `undefined`: all. */
  readonly chosen: readonly string[] | undefined;
  readonly onChange: (chosen: readonly string[] | undefined) => void;
}

/** How many are listed at first. */
const MOST_LISTED = 100;

/** The chooser. */
export function ColumnChooser({ known, chosen, onChange }: ColumnChooserProps) {
  const [wanted, setWanted] = useState("");
  const sorted = [...known].sort();
  const shown = chosen ?? sorted;
  const all = [...shown, ...sorted.filter((name) => !shown.includes(name))];
  const matching = all.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const { shown: listed, more } = useSome(matching.length, MOST_LISTED, "columns");
  const move = (from: number, to: number) => {
    const next = shown.filter((_, at) => at !== from);
    next.splice(to, 0, shown[from] as string);
    onChange(next);
  };
  return (
    <section class="range-bar filter-panel" aria-label="Columns to show">
      <div class="row">
        <input
          type="text"
          class="column-search"
          aria-label="Find a column"
          placeholder="find a column"
          value={wanted}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
        <button type="button" class="button small" onClick={() => onChange(undefined)}>
          All, by name
        </button>
        <button type="button" class="button small" onClick={() => onChange([])}>
          Key only
        </button>
        <span class="hint">Of {count(all.length)} columns of these rows. The key's are always shown.</span>
      </div>
      <ol class="column-list">
        {matching.slice(0, listed).map((name) => {
          const at = shown.indexOf(name);
          return (
            <li key={name} class="row tight">
              <Check checked={at >= 0} onChange={(checked) => onChange(checked ? [...shown, name] : shown.filter((one) => one !== name))}>
                {name}
              </Check>
              {at >= 0 && (
                <span class="row tight push">
                  <PageButton icon="up" label={`Show ${name} earlier`} disabled={at === 0} onClick={() => move(at, at - 1)} />
                  <PageButton icon="down" label={`Show ${name} later`} disabled={at === shown.length - 1} onClick={() => move(at, at + 1)} />
                </span>
              )}
            </li>
          );
        })}
      </ol>
      {more}
    </section>
  );
}
