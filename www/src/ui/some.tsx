/** A long list of which some is shown at first, and a button for more: all of it at once would take seconds to draw. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { count } from "../lib/format.ts";

/** How much is shown, and the button; `null` where everything is. */
export interface Some {
  readonly shown: number;
  /** Shows so many more. */
  readonly grow: (by: number) => void;
  readonly more: ComponentChildren;
}

/** Some of `total` things, `step` at a time. */
export function useSome(total: number, step: number, noun: string): Some {
  const [most, setMost] = useState(step);
  const shown = Math.min(most, total);
  const grow = (by: number) => setMost(most + by);
  const more =
    shown === total ? null : (
      <p class="row hint">
        <span role="status">
          {count(shown)} of {count(total)} {noun} are shown.
        </span>
        <button type="button" class="button small" onClick={() => grow(step)}>
          Show {count(Math.min(step, total - shown))} more
        </button>
      </p>
    );
  return { shown, grow, more };
}
