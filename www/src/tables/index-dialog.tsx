/** Adds a secondary index to a table [T8], and before it what an index needs: columns that are defined, one version a column. */

import { useState } from "preact/hooks";
import type { DefinedColumn, TableDescription } from "tabstore";

import type { Shown } from "../same-as/code.ts";
import { definedTrouble, type IndexText, indexTrouble, NEW_INDEX, optionsTrouble, toIndex } from "../lib/table-schema.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { findTable, refreshTables, rowsChanged } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Check } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { DefinedEditor } from "./defined-editor.tsx";
import { IndexFields } from "./index-fields.tsx";

/** What the form holds. */
interface Wish {
  readonly index: IndexText;
  /** Whether the rows that are there come into the index too. */
  readonly older: boolean;
  /** Whether the table keeps one version from now on. */
  readonly oneVersion: boolean;
  /** Columns that are defined first. */
  readonly added: readonly DefinedColumn[];
}

const NO_WISH: Wish = { index: NEW_INDEX, older: true, oneVersion: false, added: [] };

/** The table as it is before its index is made. */
function prepared(table: TableDescription, { oneVersion, added }: Wish): TableDescription {
  return { ...table, maxVersions: oneVersion ? 1 : table.maxVersions, definedColumns: [...table.definedColumns, ...added] };
}

/** The rule that a wish breaks, if it does. */
function troubleOf(ready: TableDescription, { index }: Wish): string | undefined {
  return (
    optionsTrouble(ready) ??
    definedTrouble(ready.primaryKey, ready.definedColumns) ??
    indexTrouble(index, ready, ready.indexes.length) ??
    (findTable(index.indexName) === undefined ? undefined : `There is a table called ${index.indexName} already.`)
  );
}

/** A call, as it is shown and as it is made. */
interface Step {
  readonly shown: Shown;
  readonly make: () => Promise<unknown>;
}

/** The calls of a wish without trouble, in their order. `onDefined`: its columns are the table's now. */
function stepsOf(table: TableDescription, wish: Wish, onDefined: () => void): readonly Step[] {
  const { tableName } = table;
  const { index, older, added } = wish;
  const lower = { tableName, maxVersions: 1 };
  const define = { tableName, columns: added };
  const create = { tableName, index: toIndex(index), ...(older ? {} : { includeBaseData: false }) };
  const steps: Step[] = [];
  if (prepared(table, wish).maxVersions !== table.maxVersions)
    steps.push({
      shown: { operation: "updateTable", request: lower },
      make: async () => {
        await logged("UpdateTable", tableName, () => database().updateTable(lower));
        rowsChanged.value += 1;
      },
    });
  if (added.length > 0)
    steps.push({
      shown: { operation: "addDefinedColumn", request: define },
      make: async () => {
        await logged("AddDefinedColumn", tableName, () => database().addDefinedColumn(define));
        onDefined();
      },
    });
  steps.push({
    shown: { operation: "createIndex", request: create },
    make: () => logged("CreateIndex", index.indexName, () => database().createIndex(create)),
  });
  return steps;
}

/** Makes the calls. What was done before one that fails stays done, and the form shows it. */
async function makeAll(steps: readonly Step[]): Promise<void> {
  try {
    for (const { make } of steps) await make();
  } finally {
    await refreshTables();
  }
}

function StepsShown({ table, steps }: { readonly table: TableDescription; readonly steps: readonly Step[] }) {
  return steps.map(({ shown }, at) => (
    <SameAs key={shown.operation} lead={steps.length === 1 ? "The same as" : at === 0 ? "The same as, first" : "then"} request={shown} table={table} />
  ));
}

/** The dialog. */
export function IndexDialog({ table, onClose }: { readonly table: TableDescription; readonly onClose: () => void }) {
  const [wish, setWish] = useState(NO_WISH);
  const set = (change: Partial<Wish>) => setWish((now) => ({ ...now, ...change }));
  const action = useAction();
  const ready = prepared(table, wish);
  const trouble = troubleOf(ready, wish);
  const steps = stepsOf(table, wish, () => set({ added: [] }));
  const submit = () =>
    action.run(async () => {
      if (trouble !== undefined) throw new Error(trouble);
      await makeAll(steps);
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
        <IndexFields table={ready} value={wish.index} onChange={(index) => set({ index })} focused />
        <DefinedEditor value={wish.added} onChange={(added) => set({ added })} legend="Define columns for it" />
        {table.maxVersions !== 1 && (
          <fieldset class="stack tight">
            <legend>Versions</legend>
            <p class="hint">A table with an index keeps one version of a column. This one keeps {table.maxVersions}.</p>
            <Check checked={wish.oneVersion} onChange={(oneVersion) => set({ oneVersion })}>
              Set max versions to 1. Older versions are invisible at once, and gone for good after a compaction.
            </Check>
          </fieldset>
        )}
        <Check checked={wish.older} onChange={(older) => set({ older })}>
          Also of the rows that are there. It can be read once they are in it.
        </Check>
        <ErrorNote error={action.error} />
        {trouble === undefined ? <StepsShown table={table} steps={steps} /> : <SameAs request={undefined} table={table} />}
      </div>
    </Dialog>
  );
}
