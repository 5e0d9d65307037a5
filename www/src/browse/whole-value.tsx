/** A long value: seen whole, copied, saved as a file. */

import { useState } from "preact/hooks";
import type { Value } from "tabstore";

import { bytes } from "../lib/format.ts";
import { text, visible } from "../lib/values.ts";
import { save } from "../ui/save.ts";

/** The size of a value, in bytes as it is stored. */
function sizeOf(value: Value): number {
  return value instanceof Uint8Array ? value.length : new TextEncoder().encode(text(value)).length;
}

/** The buttons, and the value below them. `name` names the file. */
export function WholeValue({ value, name }: { readonly value: Value; readonly name: string }) {
  const [open, setOpen] = useState(false);
  const [told, setTold] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(text(value)).then(
      () => setTold("Copied."),
      () => setTold("The browser does not let the page copy: select the text."),
    );
  const keep = () =>
    value instanceof Uint8Array ? save(new Blob([new Uint8Array(value)]), `${name}.bin`) : save(new Blob([text(value)], { type: "text/plain" }), `${name}.txt`);
  return (
    <div class="stack tight">
      <div class="row">
        <span class="hint">{bytes(sizeOf(value))}</span>
        <button type="button" class="button small" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show the beginning" : "Show all of it"}
        </button>
        <button type="button" class="button small" aria-label={`Copy the value of ${name}`} onClick={() => void copy()}>
          Copy
        </button>
        <button type="button" class="button small" aria-label={`Save the value of ${name} as a file`} onClick={keep}>
          Save
        </button>
        <span role="status" class="hint">
          {told}
        </span>
      </div>
      {open && <textarea class="whole-value" readOnly rows={12} aria-label={`The whole value of ${name}`} value={visible(text(value))} />}
    </div>
  );
}
