/** Deletes a table, once its name has been typed: there is no way back. */

import { useState } from "preact/hooks";

import { logged } from "../state/calls.ts";
import { showTable } from "../state/route.ts";
import { database } from "../state/session.ts";
import { refreshTables } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { focusMain } from "../ui/focus.ts";
import { ErrorNote } from "../ui/notice.tsx";

/** The dialog. */
export function DeleteDialog({ tableName, onClose }: { readonly tableName: string; readonly onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const action = useAction();
  const submit = () => action.run(async () => {
    if (typed !== tableName) return;
    await logged("DeleteTable", tableName, () => database().deleteTable(tableName));
    await refreshTables();
    focusMain();
    onClose();
    showTable(undefined);
  });
  return (
    <Dialog title="Delete this table?" onClose={onClose} onSubmit={submit} footer={<>
      <button type="button" class="button" onClick={onClose}>Cancel</button>
      <button type="submit" class="button danger" disabled={typed !== tableName} aria-disabled={action.busy}>Delete table</button>
    </>}>
      <div class="stack">
        <p>The table <b>{tableName}</b> and all its rows are removed. This cannot be undone.</p>
        <TextField label={<>Type <b>{tableName}</b> to confirm</>} name="confirm" value={typed} onInput={setTyped} focused />
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}
