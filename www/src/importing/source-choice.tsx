/** The source of an import: one of the data sets of the console, or the user's own file. */

import { useState } from "preact/hooks";

import { count } from "../lib/format.ts";
import { Icon } from "../ui/icon.tsx";
import { type DataSet, offeredDataSets } from "./data-sets.ts";

/** The props of the choice. */
interface SourceChoiceProps {
  readonly busy: boolean;
  readonly onDataSet: (set: DataSet) => void;
  readonly onFile: (file: File) => void;
}

/** The choice. */
export function SourceChoice({ busy, onDataSet, onFile }: SourceChoiceProps) {
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (file !== undefined) onFile(file);
  };
  return (
    <div class="stack">
      <h3>A data set</h3>
      <ul class="choices">
        {offeredDataSets().map((set) => (
          <li key={set.file}>
            <button type="button" class="choice" aria-disabled={busy} onClick={() => onDataSet(set)}>
              <b>{set.title}</b>
              <span>{set.about}</span>
              <span class="faint">
                {set.file}, {count(set.rows)} rows
              </span>
            </button>
          </li>
        ))}
      </ul>
      <h3>A file of your own</h3>
      <label
        class={`drop ${over ? "over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <Icon name="upload" />
        <span>Choose a CSV, JSON or NDJSON file, or drop it here. It stays in this browser.</span>
        <input
          type="file"
          class="visually-hidden"
          accept=".csv,.tsv,.json,.ndjson,.jsonl"
          disabled={busy}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) onFile(file);
          }}
        />
      </label>
      <p class="hint">
        The data sets come from the npm package vega-datasets. Sorted ones become segments directly; keys in random order take the way through log and memtable.
      </p>
    </div>
  );
}
