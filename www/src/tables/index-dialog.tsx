/** Adds a secondary index to a table [T8]. */

import { useState } from "preact/hooks";
import type { TableDescription } from "tabstore";

import { indexTrouble, NEW_INDEX, optionsTrouble, toIndex } from "../lib/table-schema.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { findTable, refreshTables } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Check } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { IndexFields } from "./index-fields.tsx";

/** The dialog. */
export function IndexDialog({ table, onClose }: { readonly table: TableDescription; readonly onClose: () => void }) {
  const [index, setIndex] = useState(NEW_INDEX);
  const [older, setOlder] = useState(true);
  const action = useAction();
  const trouble =
    optionsTrouble(table) ??
    indexTrouble(index, table, table.indexes.length) ??
    (findTable(index.indexName) === undefined ? undefined : `There is a table called ${index.indexName} already.`);
  const request = { tableName: table.tableName, index: toIndex(index), ...(older ? {} : { includeBaseData: false }) };
  const submit = () =>
    action.run(async () => {
      if (trouble !== undefined) throw new Error(trouble);
      await logged("CreateIndex", index.indexName, () => database().createIndex(request));
      await refreshTables();
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
        <IndexFields table={table} value={index} onChange={setIndex} focused />
        <Check checked={older} onChange={setOlder}>
          Also of the rows that are there. It can be read once they are in it.
        </Check>
        <ErrorNote error={action.error} />
        <SameAs request={trouble === undefined ? { operation: "createIndex", request } : undefined} table={table} />
      </div>
    </Dialog>
  );
}
