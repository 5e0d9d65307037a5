/** One row: every version of every column, and everything that can be done with it. */

import { useEffect, useState } from "preact/hooks";
import type { PrimaryKey, Row, TableDescription, UpdateRow } from "tabstore";

import { instant } from "../lib/format.ts";
import { keyText } from "../lib/keys.ts";
import { text, typeOf } from "../lib/values.ts";
import { calls, logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { AskFirst } from "../ui/ask-first.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { CallSummary } from "../calls/call-summary.tsx";
import { ChangeForm } from "./change-form.tsx";
import { PutDialog } from "./put-dialog.tsx";
import { ValueText } from "./value.tsx";

/** The props of the dialog. */
interface RowDialogProps {
  readonly table: TableDescription;
  readonly primaryKey: PrimaryKey;
  readonly onClose: () => void;
  /** Called after each change that was stored. */
  readonly onChanged: () => void;
}

/** The columns and versions, newest first. */
function Versions({ row, editable, onUpdate }: { readonly row: Row; readonly editable: boolean; readonly onUpdate: (change: Omit<UpdateRow, "primaryKey">) => void }) {
  if (row.columnNames.length === 0) return <p class="empty">This row has no attribute columns.</p>;
  return (
    <div class="grid-scroll">
      {/* On a phone its parts stand below each other, and then only their roles say that it is a table. */}
      <table class="grid versions" role="table">
        <thead role="rowgroup">
          <tr role="row">{["Column", "Type", "Value"].map((title) => <th key={title} role="columnheader" scope="col">{title}</th>)}<th role="columnheader" scope="col">Version <span class="type">milliseconds, and UTC</span></th>{editable && <th role="columnheader" scope="col"><span class="visually-hidden">Actions</span></th>}</tr>
        </thead>
        <tbody role="rowgroup">
          {row.columnNames.flatMap((name) => (row.columns[name] ?? []).map(({ value, version }, at, cells) => (
            <tr key={`${name} ${version}`} role="row" class={at === 0 ? "newest" : "older"}>
              {at === 0 && (
                <th role="rowheader" scope="rowgroup" rowSpan={cells.length}>
                  <span class="row tight">{name}
                    {editable && <button type="button" class="button quiet square small" aria-label={`Delete the column ${name} with all its versions`} title="Delete the column" onClick={() => onUpdate({ deleteColumns: [name] })}><Icon name="remove" /></button>}
                  </span>
                </th>
              )}
              <td role="cell"><span class="type">{typeOf(value)}</span></td>
              <td role="cell" class="whole" title={text(value).slice(0, 2000)}><ValueText value={value} most={400} /></td>
              <td role="cell" class="version"><code>{version}</code> <span class="type">{instant(version)}</span></td>
              {editable && <td role="cell" class="right"><button type="button" class="button quiet small" aria-label={`Delete the version ${version} of ${name}`} title="Delete this version" onClick={() => onUpdate({ deleteVersions: { [name]: [version] } })}>Delete</button></td>}
            </tr>
          )))}
        </tbody>
      </table>
    </div>
  );
}

/** The dialog. */
export function RowDialog({ table, primaryKey, onClose, onChanged }: RowDialogProps) {
  const [row, setRow] = useState<Row | null>();
  const [replacing, setReplacing] = useState<boolean>();
  const [opened] = useState(() => Date.now());
  const action = useAction();
  const { tableName } = table;
  const subject = `${tableName}, ${keyText(primaryKey)}`;
  const read = async () => {
    const { row: found } = await logged("GetRow", subject, () => database().getRow({ tableName, primaryKey, maxVersions: table.maxVersions }));
    setRow(found);
  };
  useEffect(() => action.run(read), []);
  const write = (operation: string, work: () => Promise<unknown>, then: () => Promise<void> | void = read) => action.run(async () => {
    await logged(operation, subject, work as () => Promise<{ consumed?: never }>);
    onChanged();
    await then();
  });
  const update = (change: Omit<UpdateRow, "primaryKey">) => write("UpdateRow", () => database().updateRow({ tableName, primaryKey, ...change }));
  const remove = () => write("DeleteRow", () => database().deleteRow({ tableName, primaryKey }), onClose);
  // The cost of the last change and of the reading after it.
  const costs = calls.value.filter((call) => call.subject === subject && call.at >= opened).slice(0, 2).reverse();
  if (replacing && row) {
    return <PutDialog table={table} row={row} onClose={() => setReplacing(false)} onDone={() => { setReplacing(false); onChanged(); action.run(read); }} />;
  }
  return (
    <Dialog title={`Row ${keyText(primaryKey)}`} size="wide" onClose={onClose} footer={<>
      {row && <AskFirst icon="remove" label="Delete row" yes="Delete all versions of it" busy={action.busy} onYes={remove} />}
      {row && <button type="button" class="button" autofocus={replacing === false} onClick={() => setReplacing(true)}><Icon name="edit" /> Replace row</button>}
      <span class="push row" role="status">{costs.map((call) => <CallSummary key={call.id} call={call} />)}</span>
      <button type="button" class="button" onClick={onClose}>Close</button>
    </>}>
      <div class="stack">
        <ul class="facts">{table.primaryKey.map(({ name }) => <li key={name}><span class="tag key">{name}</span> <ValueText value={primaryKey[name]} /></li>)}</ul>
        {row === null && <p class="empty">There is no such row any more: it was deleted, or all of it has expired.</p>}
        {row && <Versions row={row} editable={table.allowUpdate} onUpdate={update} />}
        <ErrorNote error={action.error} />
        {row && (table.allowUpdate ? <ChangeForm row={row} busy={action.busy} onUpdate={update} onWrong={action.fail} /> : <p class="hint">Updates are not allowed on this table; the whole row can be replaced or deleted.</p>)}
      </div>
    </Dialog>
  );
}
