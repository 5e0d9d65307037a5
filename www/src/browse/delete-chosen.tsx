/** The rows that were chosen in the grid, and the dialog that deletes them. */

import { useState } from "preact/hooks";
import type { Row, TableDescription } from "tabstore";

import { counted } from "../lib/format.ts";
import { keyId, keyOf, keyText } from "../lib/keys.ts";
import { conditionOf } from "../lib/row-changes.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { useSome } from "../ui/some.tsx";
import { useCellInSight } from "./cell-focus.ts";
import { type Deletion, deleteRows } from "./delete-rows.ts";

/** Rows by their ids. */
export type Chosen = ReadonlyMap<string, Row>;

/** The props of the bar. */
export interface ChosenBarProps {
  readonly table: TableDescription;
  readonly chosen: Chosen;
  readonly onChange: (chosen: Chosen) => void;
  /** Called when rows were deleted. */
  readonly onDeleted: () => void;
}

/** What became of the rows, in words. */
function outcome({ deleted, changed, failed }: Deletion): string {
  const stay = [
    ...(changed.length === 0
      ? []
      : [`${counted(changed.length, "row")} ${changed.length === 1 ? "was" : "were"} changed meanwhile and stay${changed.length === 1 ? "s" : ""}`]),
    ...(failed.length === 0 ? [] : [`${counted(failed.length, "row")} could not be deleted`]),
  ];
  return [`${counted(deleted, "row")} deleted`, ...stay].join(". ");
}

function Keys({ rows }: { readonly rows: readonly Row[] }) {
  const { shown, more } = useSome(rows.length, 20, "rows");
  return (
    <>
      <ul class="facts" aria-label="Rows">
        {rows.slice(0, shown).map((row, at) => (
          <li key={at}>
            <span class="tag key">{keyText(row.primaryKey)}</span>
          </li>
        ))}
      </ul>
      {more}
    </>
  );
}

function DeleteChosen({ table, chosen, onChange, onDeleted, onClose }: ChosenBarProps & { readonly onClose: () => void }) {
  const [done, setDone] = useState<Deletion>();
  const action = useAction();
  const rows = [...chosen.values()];
  const submit = () =>
    action.run(async () => {
      const result = await logged("BatchWriteRow", `${table.tableName}, ${counted(rows.length, "row")} deleted`, () => deleteRows(database(), table, rows));
      // What stays is chosen as it is now: a second look, and a second click, deletes it.
      const left = [...result.changed, ...result.failed.map(({ row }) => row)];
      onChange(new Map(left.map((row) => [keyId(table.primaryKey, row.primaryKey), row])));
      onDeleted();
      if (left.length === 0) onClose();
      else setDone(result);
    });
  const items = rows.map((row) => ({ tableName: table.tableName, delete: { primaryKey: keyOf(row), condition: conditionOf(row) } }));
  return (
    <Dialog
      title={`Delete ${counted(rows.length, "row")} of ${table.tableName}?`}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} leave={done === undefined ? "Cancel" : "Close"} danger busy={action.busy}>
          {done === undefined ? `Delete ${counted(rows.length, "row")}` : "Delete them anyway"}
        </Answers>
      }
    >
      <div class="stack">
        {done !== undefined && <p role="alert">{outcome(done)}.</p>}
        <Keys rows={rows} />
        <p class="hint">
          All their versions go. This cannot be undone. Each row is deleted only if it is as it was read {done === undefined ? "here" : "a moment ago"}.
        </p>
        {done?.failed[0] !== undefined && <ErrorNote error={done.failed[0].error} />}
        <ErrorNote error={action.error} />
        <SameAs request={{ operation: "batchWriteRow", request: items }} table={table} />
      </div>
    </Dialog>
  );
}

/** The bar. */
export function ChosenBar(props: ChosenBarProps) {
  useCellInSight();
  const [deleting, setDeleting] = useState(false);
  const { chosen, onChange } = props;
  return (
    <section class="edits" aria-label="Chosen rows">
      <div class="row">
        <strong role="status">{counted(chosen.size, "row")} chosen</strong>
        <span class="push" />
        <button type="button" class="button" onClick={() => onChange(new Map())}>
          Choose none
        </button>
        <button type="button" class="button" onClick={() => setDeleting(true)}>
          <Icon name="remove" /> Delete rows
        </button>
      </div>
      {deleting && <DeleteChosen {...props} onClose={() => setDeleting(false)} />}
    </section>
  );
}
