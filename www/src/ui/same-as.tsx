/** "The same as": what a dialog does, as a line of the shell and as code. The code's makers come when it is opened. */

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { KnownTable, Shown } from "../same-as/code.ts";
import { ErrorNote } from "./notice.tsx";

/** The props. */
export interface SameAsProps {
  /** What is done; nothing while the form is not filled in. */
  readonly request: Shown | undefined;
  /** The table that it is about, unless it is new. */
  readonly table?: KnownTable | undefined;
  readonly lead?: string | undefined;
}

let loaded: FunctionComponent<SameAsProps> | undefined;

/** The code, once it has come. */
function Panel(props: SameAsProps) {
  const [state, setState] = useState<{ readonly error?: unknown }>({});
  useEffect(() => {
    if (loaded !== undefined) return;
    import("../same-as/panel.tsx")
      .then(({ CodePanel }) => {
        loaded = CodePanel;
      })
      .then(
        () => setState({}),
        (error: unknown) => setState({ error }),
      );
  }, []);
  const Code = loaded;
  if (Code !== undefined) return <Code {...props} />;
  return state.error === undefined ? <p role="status">Loading …</p> : <ErrorNote error={state.error} />;
}

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
