/** One row: every version of every column, and everything that can be done with it. */

import { useEffect, useState } from "preact/hooks";
import type { Condition, PrimaryKey, Row, TableDescription, UpdateRow } from "tabstore";

import { CallSummary } from "../calls/call-summary.tsx";
import { keyText } from "../lib/keys.ts";
import { columnsOf, conditionOf, type RowColumn } from "../lib/row-changes.ts";
import { calls, logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { AskFirst } from "../ui/ask-first.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { lazily } from "../ui/lazily.tsx";
import { ChangeForm } from "./change-form.tsx";
import type { HistoryProps } from "./history.tsx";
import { PutDialog } from "./put-dialog.tsx";
import { RowConflict } from "./row-conflict.tsx";
import { readRow, unlessChanged } from "./unless-changed.ts";
import { ValueText } from "./value.tsx";
import { Versions } from "./versions.tsx";

const HistoryDialog = lazily<HistoryProps>(async () => (await import("./history.tsx")).HistoryDialog);

/** The props of the dialog. */
export interface RowDialogProps {
  readonly table: TableDescription;
  readonly primaryKey: PrimaryKey;
  readonly onClose: () => void;
  /** Called after each change that was stored. */
  readonly onChanged: () => void;
}

/** A write that takes something away. It is done if that is what the person has seen. */
interface Taking {
  readonly wish: "After your update" | "After your delete";
  readonly write: (condition: Condition) => Promise<unknown>;
  /** The columns that it takes away; none: the row. */
  readonly names?: readonly string[] | undefined;
  /** The column that it puts in place of another one. */
  readonly put?: RowColumn | undefined;
  readonly then: () => Promise<void> | void;
}

/** What becomes of a row. */
function wantedOf(row: Row | null, { names, put }: Taking): readonly RowColumn[] {
  const left = columnsOf(row).filter(({ name }) => names !== undefined && !names.includes(name));
  return put === undefined ? left : [...left, put];
}

/** The dialog. */
export function RowDialog({ table, primaryKey, onClose, onChanged }: RowDialogProps) {
  const [row, setRow] = useState<Row | null>();
  const [replacing, setReplacing] = useState<boolean>();
  const [conflict, setConflict] = useState<Taking & { readonly now: Row | null }>();
  /** What the last click has changed. */
  const [clicked, setClicked] = useState<Omit<UpdateRow, "primaryKey">>();
  /** The column whose history is shown in place of the row. */
  const [history, setHistory] = useState<string>();
  const [opened] = useState(() => Date.now());
  const action = useAction();
  const { tableName } = table;
  const isIndex = table.indexOf !== null;
  const subject = `${tableName}, ${keyText(primaryKey)}`;
  const read = async () => {
    setRow(await readRow(table, primaryKey));
    setConflict(undefined);
  };
  useEffect(() => action.run(read), []);
  const ended = async (then: Taking["then"]) => {
    onChanged();
    await then();
  };
  const call = (operation: string, work: () => Promise<unknown>) => logged(operation, subject, work as () => Promise<{ consumed?: never }>);
  const take = (taking: Taking) =>
    action.run(async () => {
      if (!row) return;
      const found = await unlessChanged(table, row, taking.write, taking.names);
      if (found === undefined) await ended(taking.then);
      else setConflict({ ...taking, ...found });
    });
  const update = (change: Omit<UpdateRow, "primaryKey">, put?: RowColumn, stored?: () => void) => {
    const write = (condition?: Condition) => call("UpdateRow", () => database().updateRow({ tableName, primaryKey, ...change, condition }));
    const then = async () => {
      stored?.();
      await read();
    };
    if (change.deleteColumns !== undefined) take({ wish: "After your delete", names: change.deleteColumns, write, then });
    // Of several versions the one before stays. Of one it goes.
    else if (put !== undefined && table.maxVersions === 1) take({ wish: "After your update", names: [put.name], put, write, then });
    else
      action.run(async () => {
        await write();
        await ended(then);
      });
  };
  const remove = () =>
    take({
      wish: "After your delete",
      write: (condition) => call("DeleteRow", () => database().deleteRow({ tableName, primaryKey, condition })),
      then: onClose,
    });
  // The cost of the last change and of the reading after it.
  const costs = calls.value
    .filter((one) => one.subject === subject && one.at >= opened)
    .slice(0, 2)
    .reverse();
  const title = `Row ${keyText(primaryKey)}`;
  if (replacing && row) {
    return (
      <PutDialog
        table={table}
        row={row}
        onClose={() => setReplacing(false)}
        onDone={() => {
          setReplacing(false);
          onChanged();
          action.run(read);
        }}
      />
    );
  }
  if (history !== undefined && row) {
    const back = () => {
      setHistory(undefined);
      action.run(read);
    };
    return <HistoryDialog table={table} row={row} column={history} onChanged={onChanged} onClose={back} />;
  }
  if (conflict !== undefined && row) {
    const anyway = () =>
      action.run(async () => {
        await conflict.write({});
        await ended(conflict.then);
      });
    return (
      <RowConflict
        title={title}
        wish={conflict.wish}
        read={row}
        now={conflict.now}
        wanted={wantedOf(conflict.now, conflict)}
        action={action}
        onOverwrite={anyway}
        onReload={() => action.run(read)}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={title}
      size="wide"
      onClose={onClose}
      footer={
        <>
          {row && !isIndex && <AskFirst icon="remove" label="Delete row" yes="Delete all versions of it" busy={action.busy} onYes={remove} />}
          {row && !isIndex && (
            <button type="button" class="button" autofocus={replacing === false} onClick={() => setReplacing(true)}>
              <Icon name="edit" /> Replace row
            </button>
          )}
          <span class="push row" role="status">
            {costs.map((one) => (
              <CallSummary key={one.id} call={one} />
            ))}
          </span>
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </>
      }
    >
      <div class="stack">
        <ul class="facts">
          {table.primaryKey.map(({ name }) => (
            <li key={name}>
              <span class="tag key">{name}</span> <ValueText value={primaryKey[name]} most={4000} />
            </li>
          ))}
        </ul>
        {row === null && <p class="empty">There is no such row any more: it was deleted, or all of it has expired.</p>}
        {row && (
          <Versions
            row={row}
            editable={table.allowUpdate && !isIndex}
            onHistory={setHistory}
            onUpdate={(change) => {
              // A column goes only as it was read; see `take`.
              setClicked(change.deleteColumns === undefined ? change : { ...change, condition: conditionOf(row, change.deleteColumns) });
              update(change);
            }}
          />
        )}
        {clicked !== undefined && (
          <SameAs lead="The last deletion is the same as" request={{ operation: "updateRow", request: { tableName, primaryKey, ...clicked } }} table={table} />
        )}
        <ErrorNote error={action.error} />
        {row &&
          (isIndex ? (
            <p class="hint">An index is read only: its rows follow those of {table.indexOf}.</p>
          ) : table.allowUpdate ? (
            <ChangeForm table={table} row={row} busy={action.busy} onUpdate={update} onWrong={action.fail} />
          ) : (
            <p class="hint">Updates are not allowed on this table; the whole row can be replaced or deleted.</p>
          ))}
        {row && !isIndex && (
          <SameAs
            lead="Delete row is the same as"
            request={{ operation: "deleteRow", request: { tableName, primaryKey, condition: conditionOf(row) } }}
            table={table}
          />
        )}
      </div>
    </Dialog>
  );
}
