/** The versions of one column of a row: each with its time and what it changed, and ways back to an older value. */

import { useState } from "preact/hooks";
import type { Cell, Condition, Row, TableDescription, UpdateRow, Value } from "tabstore";
import { double } from "tabstore";

import { counted, instant } from "../lib/format.ts";
import { keyOf, keyText } from "../lib/keys.ts";
import { conditionOf } from "../lib/row-changes.ts";
import { valueDiff } from "../lib/value-diff.ts";
import { typeOf } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { AskFirst } from "../ui/ask-first.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Headings, HiddenHeading } from "../ui/headings.tsx";
import { Banner, ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { useSome } from "../ui/some.tsx";
import { readRow, unlessChanged } from "./unless-changed.ts";
import { ValueText } from "./value.tsx";

/** The props of the dialog. */
export interface HistoryProps {
  readonly table: TableDescription;
  /** The row, with all its versions. */
  readonly row: Row;
  readonly column: string;
  /** Goes back to the row. */
  readonly onClose: () => void;
  /** Called after each change that was stored. */
  readonly onChanged: () => void;
}

type Change = Pick<UpdateRow, "put" | "deleteVersions" | "condition">;

/** A change that makes an older value the newest one. */
interface Undo {
  readonly label: string;
  readonly yes: string;
  readonly change: Change;
}

const inputOf = (value: Value) => (typeof value === "number" ? double(value) : value);

/** The ways back: the newest version is deleted, or an older value is put again. */
function undoOf(column: string, cells: readonly Cell[], at: number): Undo | undefined {
  const cell = cells[at];
  if (cell === undefined || cells.length < 2) return undefined;
  if (at === 0)
    return { label: "Undo", yes: "Delete this version: the one before is the newest again", change: { deleteVersions: { [column]: [cell.version] } } };
  return { label: "Put again", yes: "Put this value as a new version", change: { put: { [column]: inputOf(cell.value) } } };
}

function Difference({ before, after }: { readonly before: Value | undefined; readonly after: Value }) {
  const parts = valueDiff(before, after);
  if (parts === undefined) return <span class="none">the oldest that is kept</span>;
  if (parts.length === 0) return <span class="none">the same value</span>;
  return (
    <>
      {parts.map(({ kind, text }, at) =>
        kind === "gone" ? <del key={at}>{text}</del> : kind === "new" ? <ins key={at}>{text}</ins> : <span key={at} class="type">{` ${text} `}</span>,
      )}
    </>
  );
}

/** How many versions are shown at first. */
const MOST_SHOWN = 100;

/** The dialog. */
export function HistoryDialog({ table, row: given, column, onClose, onChanged }: HistoryProps) {
  const [row, setRow] = useState<Row | null>(given);
  const [told, setTold] = useState(false);
  const [last, setLast] = useState<Change>();
  const action = useAction();
  const { tableName } = table;
  const primaryKey = keyOf(given);
  const cells = row?.columns[column] ?? [];
  const { shown, more } = useSome(cells.length, MOST_SHOWN, "versions");
  const isEditable = table.allowUpdate && table.indexOf === null;
  const undo = ({ change }: Undo) =>
    action.run(async () => {
      if (row === null) return;
      const write = (condition: Condition) =>
        logged("UpdateRow", `${tableName}, ${keyText(primaryKey)}`, () => database().updateRow({ tableName, primaryKey, ...change, condition }));
      const found = await unlessChanged(table, row, write, [column]);
      setTold(found !== undefined);
      setLast(found === undefined ? { ...change, condition: conditionOf(row, [column]) } : undefined);
      setRow(found === undefined ? await readRow(table, primaryKey) : found.now);
      if (found === undefined) onChanged();
    });
  return (
    <Dialog
      title={`History of ${column}, row ${keyText(primaryKey)}`}
      size="wide"
      onClose={onClose}
      footer={
        <>
          <span class="push" role="status">
            {counted(cells.length, "version")}
          </span>
          <button type="button" class="button" autofocus onClick={onClose}>
            Back to the row
          </button>
        </>
      }
    >
      <div class="stack">
        {told && (
          <Banner tone="warning" title="This column was changed meanwhile">
            Nothing was stored. What is stored now is shown.
          </Banner>
        )}
        {table.maxVersions === 1 && (
          <p class="hint">
            This table keeps one version of a column. “Modify table” sets more max versions: then older values stay, also those that no compaction has taken
            yet.
          </p>
        )}
        {cells.length === 0 ? (
          <p class="empty">The row has no such column any more.</p>
        ) : (
          <div class="grid-scroll">
            <table class="grid history">
              <Headings titles={["Version (UTC)", "Value", "Change to the one before"]}>
                <HiddenHeading>Actions</HiddenHeading>
              </Headings>
              <tbody>
                {cells.slice(0, shown).map((cell, at) => {
                  const way = isEditable ? undoOf(column, cells, at) : undefined;
                  return (
                    <tr key={cell.version}>
                      <td class="version">
                        <code>{instant(cell.version)}</code>
                      </td>
                      <td class="whole">
                        <ValueText value={cell.value} most={400} /> <span class="type">{typeOf(cell.value)}</span>
                      </td>
                      <td class="whole">
                        <Difference before={cells[at + 1]?.value} after={cell.value} />
                      </td>
                      <td class="right">
                        {way !== undefined && (
                          <AskFirst icon="refresh" label={way.label} yes={way.yes} no="Cancel" busy={action.busy} onYes={() => undo(way)} />
                        )}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
        {more}
        <ErrorNote error={action.error} />
        {last === undefined || row === null ? (
          <SameAs
            lead="To read it is the same as"
            request={{ operation: "getRow", request: { tableName, primaryKey, columnsToGet: [column], maxVersions: table.maxVersions } }}
            table={table}
          />
        ) : (
          <SameAs lead="The last change is the same as" request={{ operation: "updateRow", request: { tableName, primaryKey, ...last } }} table={table} />
        )}
      </div>
    </Dialog>
  );
}
