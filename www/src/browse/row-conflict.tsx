/** A row that was not written because it is not as it was read: what is stored now, beside what was wanted. */

import type { Row } from "tabstore";

import type { Difference } from "../lib/differences.ts";
import { counted } from "../lib/format.ts";
import { type RowColumn, rowDifferences } from "../lib/row-changes.ts";
import type { Action } from "../ui/action.ts";
import { ConflictTable } from "../ui/conflict-table.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Banner, ErrorNote } from "../ui/notice.tsx";
import { TypedText } from "./value.tsx";

/** The props of the dialog. */
interface RowConflictProps {
  readonly title: string;
  readonly wish: "After your replace" | "After your update" | "After your delete";
  /** The row as it was read. */
  readonly read: Row;
  /** What is stored now. */
  readonly now: Row | null;
  readonly wanted: readonly RowColumn[];
  readonly action: Action;
  /** Goes back to what was typed, where something was. */
  readonly onBack?: (() => void) | undefined;
  /** Writes whatever is stored. */
  readonly onOverwrite: () => void;
  readonly onReload: () => void;
  readonly onClose: () => void;
}

const differs = ({ now, wanted }: Difference<RowColumn>) => now?.type !== wanted?.type || now?.text !== wanted?.text;

function Column({ value: { type, text, cells } }: { readonly value: RowColumn }) {
  const older = cells.length - 1;
  return (
    <>
      <TypedText type={type} text={text} />{" "}
      <span class="type">
        {type}
        {older > 0 && `, and ${counted(older, "older version")}`}
      </span>
    </>
  );
}

/** The dialog. */
export function RowConflict({ title, wish, read, now, wanted, action, onBack, onOverwrite, onReload, onClose }: RowConflictProps) {
  const deletes = wish === "After your delete";
  return (
    <Dialog
      title={title}
      size="wide"
      onClose={onClose}
      footer={
        <>
          {onBack !== undefined && (
            <button type="button" class="button" onClick={onBack}>
              Go on editing
            </button>
          )}
          <span class="push" />
          {(now !== null || !deletes) && (
            <button type="button" class="button danger" aria-disabled={action.busy} onClick={onOverwrite}>
              {deletes ? "Delete it anyway" : "Overwrite"}
            </button>
          )}
          <button type="button" class="button primary" aria-disabled={action.busy} autofocus onClick={onReload}>
            Reload
          </button>
        </>
      }
    >
      <div class="stack">
        <Banner tone="warning" title={now === null ? "There is no such row any more" : "This row is not as it was read"}>
          Nothing was stored. Somebody else has {now === null ? "deleted" : "changed"} it, in another tab or another program, or{" "}
          {now === null ? "all" : "a part"} of it has expired.
        </Banner>
        <ConflictTable part="Column" wish={wish} differences={rowDifferences(read, now, wanted)} differs={differs} cell={(value) => <Column value={value} />} />
        <p class="hint">
          Reload shows what is stored{!deletes && ", and gives up what was typed here"}. {deletes ? "Delete it anyway" : "Overwrite"} does what you wanted,
          whatever is stored.
        </p>
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}
