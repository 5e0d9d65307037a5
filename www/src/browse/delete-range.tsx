/** Deletes all rows of a view. They are counted before, and again while they are deleted. */

import { useEffect, useState } from "preact/hooks";
import type { DeleteRangeRequest, TableDescription } from "tabstore";

import { counted } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { ConfirmName } from "../ui/confirm-name.tsx";
import { Banner, ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { partOf, type View } from "./paging.ts";

/** The props of the dialog. */
export interface DeleteRangeProps {
  readonly table: TableDescription;
  readonly view: View;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** What is deleted, in words. */
function extent({ start, end, filter }: View): string {
  const range = start === undefined && end === undefined ? "of the whole table" : "of the range";
  return filter === undefined ? range : `${range} that match the filter`;
}

/** The dialog. */
export function DeleteRangeDialog({ table, view, onClose, onDeleted }: DeleteRangeProps) {
  const { tableName } = table;
  const [before, setBefore] = useState<number>();
  const [deleted, setDeleted] = useState<{ readonly count: number; readonly write: number }>();
  const [typed, setTyped] = useState("");
  const action = useAction();
  const request: DeleteRangeRequest = { tableName, ...partOf(view) };
  useEffect(() => action.run(async () => setBefore((await logged("CountRows", tableName, () => database().count(request))).count)), []);
  // All rows of a table are as much as the table.
  const isWhole = view.start === undefined && view.end === undefined && view.filter === undefined;
  const submit = () =>
    action.run(async () => {
      if (before === undefined || deleted !== undefined) return;
      const { count, consumed } = await logged("DeleteRange", tableName, () => database().deleteRange(request));
      setDeleted({ count, write: consumed.write });
      onDeleted();
    });
  const ready = before !== undefined && before > 0 && (!isWhole || typed === tableName);
  return (
    <Dialog
      title={`Delete rows of ${tableName}`}
      onClose={onClose}
      onSubmit={deleted === undefined ? submit : onClose}
      footer={
        deleted === undefined ? (
          <Answers onClose={onClose} danger disabled={!ready} busy={action.busy}>
            Delete {before === undefined ? "rows" : counted(before, "row")}
          </Answers>
        ) : (
          <button type="submit" class="button primary" autofocus>
            Close
          </button>
        )
      }
    >
      <div class="stack">
        {deleted === undefined ? (
          <>
            <p role="status">
              {before === undefined ? "Counting …" : `${counted(before, "row")} ${extent(view)} ${before === 1 ? "is" : "are"} deleted, with all versions.`}
            </p>
            <p class="hint">This cannot be undone. Rows that come into the range meanwhile are deleted too, and each row is deleted for itself.</p>
            {isWhole && <ConfirmName name={tableName} value={typed} onInput={setTyped} />}
          </>
        ) : (
          <Banner tone="good" title={`${counted(deleted.count, "row")} deleted`}>
            {before !== deleted.count && `${counted(before ?? 0, "row")} had been counted: others have written meanwhile. `}
            It took {counted(deleted.write, "write unit")}.
          </Banner>
        )}
        <ErrorNote error={action.error} />
        <SameAs request={{ operation: "deleteRange", request }} table={table} />
      </div>
    </Dialog>
  );
}
