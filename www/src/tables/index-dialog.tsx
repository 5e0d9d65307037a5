/** Adds a secondary index to a table [T8], and before it what an index needs: columns that are defined, one version a column. */

import { useState } from "preact/hooks";
import type { DefinedColumn, TableDescription } from "tabstore";

import type { Shown } from "../same-as/code.ts";
import { definedTrouble, indexTrouble, NEW_INDEX, optionsTrouble, toIndex } from "../lib/table-schema.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { findTable, refreshTables, rowsChanged } from "../state/tables.ts";
import { type Action, useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Check } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { DefinedEditor } from "./defined-editor.tsx";
import { IndexFields } from "./index-fields.tsx";

/** What the form holds, and what follows from it. */
interface IndexForm {
  readonly index: typeof NEW_INDEX;
  readonly setIndex: (index: typeof NEW_INDEX) => void;
  /** Whether the rows that are there come into the index too. */
  readonly older: boolean;
  readonly setOlder: (older: boolean) => void;
  /** Whether the table keeps one version from now on. */
  readonly oneVersion: boolean;
  readonly setOneVersion: (oneVersion: boolean) => void;
  /** Columns that are defined first. */
  readonly added: readonly DefinedColumn[];
  readonly setAdded: (added: readonly DefinedColumn[]) => void;
  /** The columns that are defined then. */
  readonly definedColumns: readonly DefinedColumn[];
  /** The rule that it breaks, if it does. */
  readonly trouble: string | undefined;
  /** What is done, in this order. */
  readonly steps: readonly Shown[];
}

function useIndexForm(table: TableDescription): IndexForm {
  const [index, setIndex] = useState(NEW_INDEX);
  const [older, setOlder] = useState(true);
  const [oneVersion, setOneVersion] = useState(false);
  const [added, setAdded] = useState<readonly DefinedColumn[]>([]);
  const { tableName } = table;
  const definedColumns = [...table.definedColumns, ...added];
  const lowers = oneVersion && table.maxVersions !== 1;
  const trouble =
    optionsTrouble(lowers ? { ...table, maxVersions: 1 } : table) ??
    definedTrouble(table.primaryKey, definedColumns) ??
    indexTrouble(index, { primaryKey: table.primaryKey, definedColumns }, table.indexes.length) ??
    (findTable(index.indexName) === undefined ? undefined : `There is a table called ${index.indexName} already.`);
  const steps: Shown[] = [
    ...(lowers ? [{ operation: "updateTable" as const, request: { tableName, maxVersions: 1 } }] : []),
    ...(added.length > 0 ? [{ operation: "addDefinedColumn" as const, request: { tableName, columns: added } }] : []),
    { operation: "createIndex", request: { tableName, index: toIndex(index), ...(older ? {} : { includeBaseData: false }) } },
  ];
  return { index, setIndex, older, setOlder, oneVersion, setOneVersion, added, setAdded, definedColumns, trouble, steps };
}

/** Does the steps of a form. What was done before a step that fails stays done, and the form shows it. */
async function create(tableName: string, { steps, index, setAdded }: IndexForm): Promise<void> {
  try {
    for (const { operation, request } of steps) {
      if (operation === "updateTable") {
        await logged("UpdateTable", tableName, () => database().updateTable(request));
        rowsChanged.value += 1;
      } else if (operation === "addDefinedColumn") {
        await logged("AddDefinedColumn", tableName, () => database().addDefinedColumn(request));
        setAdded([]);
      } else if (operation === "createIndex") {
        await logged("CreateIndex", index.indexName, () => database().createIndex(request));
      }
    }
  } finally {
    await refreshTables();
  }
}

function IndexNeeds({ table, form }: { readonly table: TableDescription; readonly form: IndexForm }) {
  return (
    <>
      <DefinedEditor value={form.added} onChange={form.setAdded} legend="Define columns for it" />
      {table.maxVersions !== 1 && (
        <fieldset class="stack tight">
          <legend>Versions</legend>
          <p class="hint">A table with an index keeps one version of a column. This one keeps {table.maxVersions}.</p>
          <Check checked={form.oneVersion} onChange={form.setOneVersion}>
            Set max versions to 1. Older versions are invisible at once, and gone for good after a compaction.
          </Check>
        </fieldset>
      )}
    </>
  );
}

function Steps({ table, form: { trouble, steps } }: { readonly table: TableDescription; readonly form: IndexForm }) {
  if (trouble !== undefined) return <SameAs request={undefined} table={table} />;
  return steps.map((request, at) => (
    <SameAs key={request.operation} lead={steps.length === 1 ? "The same as" : at === 0 ? "The same as, first" : "then"} request={request} table={table} />
  ));
}

/** The dialog. */
export function IndexDialog({ table, onClose }: { readonly table: TableDescription; readonly onClose: () => void }) {
  const form = useIndexForm(table);
  const action: Action = useAction();
  const submit = () =>
    action.run(async () => {
      if (form.trouble !== undefined) throw new Error(form.trouble);
      await create(table.tableName, form);
      onClose();
    });
  return (
    <Dialog
      title={`Create an index of ${table.tableName}`}
      size="wide"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} busy={action.busy}>
          Create index
        </Answers>
      }
    >
      <div class="stack">
        <IndexFields table={{ primaryKey: table.primaryKey, definedColumns: form.definedColumns }} value={form.index} onChange={form.setIndex} focused />
        <IndexNeeds table={table} form={form} />
        <Check checked={form.older} onChange={form.setOlder}>
          Also of the rows that are there. It can be read once they are in it.
        </Check>
        <ErrorNote error={action.error} />
        <Steps table={table} form={form} />
      </div>
    </Dialog>
  );
}
