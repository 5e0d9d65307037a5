/** "The same as": what a dialog does, as a line of the shell and as code. The code's makers come when it is opened. */

import { useState } from "preact/hooks";

import type { KnownTable, Shown } from "../same-as/code.ts";
import { lazily } from "./lazily.tsx";

/** The props. */
export interface SameAsProps {
  /** What is done; nothing while the form is not filled in. */
  readonly request: Shown | undefined;
  /** The table that it is about, unless it is new. */
  readonly table?: KnownTable | undefined;
  readonly lead?: string | undefined;
}

const Panel = lazily<SameAsProps>(async () => (await import("../same-as/panel.tsx")).CodePanel);

/** The foot of a dialog. */
export function SameAs({ lead = "The same as", ...props }: SameAsProps) {
  const [open, setOpen] = useState(false);
  return (
    <details class="same-as" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{lead} …</summary>
      {open && <Panel {...props} lead={lead} />}
    </details>
  );
}
