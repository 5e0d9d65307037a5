/** A place to choose a file, or to drop one, before an instance is open. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { importPicked } from "./picked.ts";

/** The place. */
export function FilePick({ class: name, children }: { readonly class: string; readonly children: ComponentChildren }) {
  const [isOver, setOver] = useState(false);
  const take = (file: File | undefined) => {
    if (file !== undefined) importPicked(file);
  };
  return (
    <label
      class={`${name} file-pick ${isOver ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files[0]);
      }}
    >
      {children}
      <input type="file" class="visually-hidden" accept=".csv,.tsv,.json,.ndjson,.jsonl" onChange={(event) => take(event.currentTarget.files?.[0])} />
    </label>
  );
}
