/** Deletes a table, once its name has been typed: there is no way back. */

import { useState } from "preact/hooks";

import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { ConfirmName } from "../ui/confirm-name.tsx";
import { focusMain } from "../ui/focus.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";

/** The props of the dialog. */
interface DeleteDialogProps {
  readonly tableName: string;
  /** What is in it. */
  readonly contents?: string | undefined;
  /** Whether it is one of the service's own tables, which the shell and the SDKs delete too. */
  readonly isOwn?: boolean | undefined;
  /** Deletes it. */
  readonly onDelete: () => Promise<void>;
  /** Called after it was deleted, when the dialog has closed. */
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

/** The dialog. */
export function DeleteDialog({ tableName, contents = "rows", isOwn = false, onDelete, onDeleted, onClose }: DeleteDialogProps) {
  const [typed, setTyped] = useState("");
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      if (typed !== tableName) return;
      await onDelete();
      focusMain();
      onClose();
      onDeleted();
    });
  return (
    <Dialog
      title="Delete this table?"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} danger disabled={typed !== tableName} busy={action.busy}>
          Delete table
        </Answers>
      }
    >
      <div class="stack">
        <p>
          The table <b>{tableName}</b> and all its {contents} are removed. This cannot be undone.
        </p>
        <ConfirmName name={tableName} value={typed} onInput={setTyped} />
        <ErrorNote error={action.error} />
        {isOwn && <SameAs request={{ operation: "deleteTable", request: { tableName } }} />}
      </div>
    </Dialog>
  );
}
