/** Imports a file: first which one, then what becomes of it. */

import { useEffect, useState } from "preact/hooks";
import { type ImportPreview, inspectImport } from "tabstore";

import { findTable } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Dialog } from "../ui/dialog.tsx";
import { focusMain, forgetMain } from "../ui/focus.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import type { DataSet } from "./data-sets.ts";
import { job, type JobSource, startImport } from "./job.ts";
import { pickedFile } from "./picked.ts";
import { type ImportPlan, legalName, planErrors, planTable, startPlan, suggestKey, toImportOptions } from "./plan.ts";
import { PlanForm } from "./plan-form.tsx";
import { SourceChoice } from "./source-choice.tsx";

/** A file that has been looked at, and the plan for it. */
interface Draft {
  readonly source: JobSource;
  readonly preview: ImportPreview;
  readonly plan: ImportPlan;
}

/** The names of files that the package's import knows the format of. */
const READABLE = /\.(?:csv|tsv|json|ndjson|jsonl)$/i;

/** A table's name after a file: its name without the ending, with `_` for what is not allowed. */
function tableNameOf(file: string): string {
  const name = file
    .replace(/\.[^.]*$/, "")
    .replace(/[^A-Za-z0-9_]+/g, "_")
    .slice(0, 255);
  return legalName(name) ? name : legalName(`t_${name}`) ? `t_${name}` : "imported";
}

async function download({ file, rows, inFlight }: DataSet): Promise<JobSource> {
  const response = await fetch(`data/${file}`);
  if (!response.ok) throw new Error(`The data set ${file} is not there: the server answered ${response.status}.`);
  return { blob: await response.blob(), name: file, rows, inFlight };
}

/** The dialog. */
export function ImportDialog({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>();
  const action = useAction();
  const look = (getSource: () => Promise<JobSource>, known?: DataSet) =>
    action.run(async () => {
      const source = await getSource();
      if (!READABLE.test(source.name)) throw new Error(`${source.name} cannot be read: choose a CSV, TSV, JSON or NDJSON file.`);
      const preview = await inspectImport(new File([source.blob], source.name));
      if (preview.columns.length === 0) throw new Error("There are no rows in this file.");
      const key = known?.key ?? suggestKey(preview);
      setDraft({ source, preview, plan: startPlan(preview, known?.table ?? tableNameOf(source.name), key, known !== undefined) });
    });
  const lookAt = (file: File) => look(async () => ({ blob: file, name: file.name, rows: undefined }));
  useEffect(() => {
    const file = pickedFile.peek();
    pickedFile.value = undefined;
    if (file !== undefined) lookAt(file);
  }, []);
  if (draft === undefined) {
    return (
      <Dialog title="Import data" size="wide" step="source" onClose={onClose}>
        <SourceChoice busy={action.busy} onDataSet={(set) => look(() => download(set), set)} onFile={lookAt} />
        {action.busy && (
          <p class="hint" role="status">
            Looking at the file …
          </p>
        )}
        <ErrorNote error={action.error} />
      </Dialog>
    );
  }
  const { source, preview, plan } = draft;
  const existing = findTable(plan.tableName);
  const errors = planErrors(plan, existing);
  const running = job.value?.state === "running";
  const request = () => ({
    tableName: plan.tableName,
    source: source.name,
    options: { ...toImportOptions(plan, existing !== undefined), format: preview.format },
    create: existing === undefined ? planTable(plan) : undefined,
  });
  const submit = () =>
    action.run(async () => {
      if (errors.length > 0 || running) return;
      // Before anything else: this dialog goes with the empty page as soon as there is a table.
      focusMain();
      await startImport(source, preview.format, plan).catch((error: unknown) => {
        forgetMain();
        throw error;
      });
      onClose();
    });
  return (
    <Dialog
      title={`Import ${source.name}`}
      size="full"
      step="plan"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <button type="button" class="button" onClick={() => setDraft(undefined)}>
            Another file
          </button>
          {running && <span class="hint">Another import is on its way.</span>}
          <span class="push" />
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={errors.length > 0 || running} aria-disabled={action.busy}>
            {existing === undefined ? "Create table and import" : `Import into ${plan.tableName}`}
          </button>
        </>
      }
    >
      <PlanForm preview={preview} plan={plan} existing={existing !== undefined} errors={errors} onChange={(changed) => setDraft({ ...draft, plan: changed })} />
      <ErrorNote error={action.error} />
      <SameAs request={errors.length > 0 ? undefined : { operation: "importRows", request: request() }} />
    </Dialog>
  );
}
