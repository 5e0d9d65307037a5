/** Writes the rows of a table into a file of the reader's own. */

import { useEffect, useState } from "preact/hooks";
import type { ExportOptions, TableDescription } from "tabstore";

import { partOf, type View } from "../browse/paging.ts";
import { useView } from "../browse/use-view.ts";
import { bytes, count, counted } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { route } from "../state/route.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Check, Field, Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { save } from "../ui/save.ts";

/** The forms of a file, the endings of their names, and what the package calls them. */
const FORMS = {
  csv: { ending: "csv", type: "text/csv", options: { format: "csv" } },
  objects: { ending: "json", type: "application/json", options: { format: "json", shape: "object" } },
  lines: { ending: "ndjson", type: "application/x-ndjson", options: { shape: "object" } },
  exact: { ending: "ndjson", type: "application/x-ndjson", options: { versions: "all" } },
} as const satisfies Record<string, { ending: string; type: string; options: ExportOptions }>;

const NOTES: Readonly<Record<keyof typeof FORMS, string>> = {
  csv: "A line a row, for spreadsheets. Newest values; bytes are base64.",
  objects: "One array of objects, for other programs. Newest values; bytes are base64.",
  lines: "An object a line, for other programs and for the import here. Newest values.",
  exact: "A row a line, with the types and all versions. For importRows of the package.",
};

/** What the view leaves out: the parts of an export, and their names. */
interface Narrowed {
  readonly options: Pick<ExportOptions, "start" | "end" | "filter" | "columns">;
  readonly names: readonly string[];
}

/** The parts that a view leaves out; none if the address has an error. */
function narrowed(view: View | undefined, columns: readonly string[] | undefined): Narrowed {
  if (view === undefined) return { options: {}, names: [] };
  const names = [
    ...(view.start === undefined && view.end === undefined ? [] : ["the range"]),
    ...(view.filter !== undefined ? ["the filter"] : []),
    ...(columns !== undefined ? [counted(columns.length, "column")] : []),
  ];
  return { options: { ...partOf(view), ...(columns && { columns }) }, names };
}

/** The dialog. */
export function ExportDialog({ table, onClose }: { readonly table: TableDescription; readonly onClose: () => void }) {
  const { tableName, maxVersions } = table;
  const part = narrowed(useView(table).view, route.value.columns);
  const isPart = part.names.length > 0;
  const [asShown, setAsShown] = useState(true);
  const [form, setForm] = useState<keyof typeof FORMS>("csv");
  const [progress, setProgress] = useState<{ readonly rows: number; readonly bytes: number }>();
  const [done, setDone] = useState(false);
  const [abort] = useState(() => new AbortController());
  // A dialog that goes takes its export along.
  useEffect(() => () => abort.abort(), [abort]);
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      setDone(false);
      setProgress({ rows: 0, bytes: 0 });
      const { ending, type, options } = FORMS[form];
      const file = await logged("Export", tableName, async () => {
        const stream = await database().exportRows(tableName, { ...options, ...(asShown ? part.options : {}), signal: abort.signal, onProgress: setProgress });
        return new Response(stream).blob();
      });
      save(file.slice(0, file.size, type), `${tableName}.${ending}`);
      setDone(true);
    });
  return (
    <Dialog
      title={`Export ${tableName}`}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} leave={done ? "Close" : "Cancel"} busy={action.busy}>
          <Icon name="download" /> Export
        </Answers>
      }
    >
      <div class="stack">
        <Field label="Format" hint={NOTES[form]}>
          {({ id }) => (
            <Select
              id={id}
              value={form}
              onChange={setForm}
              options={[
                ["csv", "CSV"],
                ["objects", "JSON"],
                ["lines", "NDJSON"],
                ["exact", maxVersions > 1 ? "NDJSON with types and versions" : "NDJSON with types"],
              ]}
            />
          )}
        </Field>
        {isPart ? (
          <Check checked={asShown} onChange={setAsShown}>
            Only what the view shows: {part.names.join(", ")}
          </Check>
        ) : (
          <p class="hint">All rows of the table.</p>
        )}
        <p role="status">
          {progress !== undefined &&
            `${count(progress.rows)} ${progress.rows === 1 ? "row" : "rows"}, ${bytes(progress.bytes)}${done ? ": the file is in your downloads." : ""}`}
        </p>
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}
