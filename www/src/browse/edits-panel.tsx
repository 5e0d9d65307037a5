/** The changes that were typed in the grid: how many, what they are, and the buttons that save them or give them up. */

import { useState } from "preact/hooks";
import type { Condition, Row, TableDescription } from "tabstore";

import { cellOf, type Edits, editsText, type RowEdit, updateOf } from "../lib/edits.ts";
import { counted } from "../lib/format.ts";
import { keyOf, keyText } from "../lib/keys.ts";
import { conditionOf } from "../lib/row-changes.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Heading, Headings, HiddenHeading } from "../ui/headings.tsx";
import { Banner, ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { EditText } from "./cell.tsx";
import { useCellInSight } from "./cell-focus.ts";
import { unlessChanged } from "./unless-changed.ts";
import { TypedText } from "./value.tsx";

/** The props of the panel. */
export interface EditsPanelProps {
  readonly table: TableDescription;
  readonly edits: Edits;
  readonly onChange: (edits: Edits) => void;
  /** Called when rows were stored. */
  readonly onSaved: () => void;
}

/** Writes the changes of a row, unless what they change is not as it was read. Gives what is left of them. */
async function saved(table: TableDescription, edit: RowEdit): Promise<RowEdit | undefined> {
  const { tableName } = table;
  const primaryKey = keyOf(edit.read);
  const write = (condition: Condition) =>
    logged("UpdateRow", `${tableName}, ${keyText(primaryKey)}`, () => database().updateRow({ tableName, primaryKey, ...updateOf(edit), condition }));
  const { read, cells } = edit;
  try {
    const found = await unlessChanged(table, read, write, [...cells.keys()], 1);
    return found === undefined ? undefined : { read, cells, now: found.now };
  } catch (error) {
    return { read, cells, error };
  }
}

function Stored({ row, name }: { readonly row: Row | null; readonly name: string }) {
  const cell = cellOf(row, name);
  return cell === undefined ? (
    <span class="none">no value</span>
  ) : (
    <>
      <TypedText type={cell.type} text={cell.text} /> <span class="type">{cell.type}</span>
    </>
  );
}

/** The props of the table. */
interface ChangesProps extends EditsPanelProps {
  readonly busy: boolean;
  /** Writes a row whatever is stored. */
  readonly onOverwrite: (id: string, edit: RowEdit) => void;
  /** Gives up the changes of a row. */
  readonly onGiveUp: (id: string) => void;
}

function Changes({ table, edits, busy, onOverwrite, onGiveUp }: ChangesProps) {
  const conflicts = [...edits.values()].some(({ now }) => now !== undefined);
  return (
    <div class="grid-scroll">
      <table class="grid changes">
        <caption class="visually-hidden">Changes that are not saved</caption>
        <Headings titles={["Row", "Column", "As it was read", ...(conflicts ? ["Stored now"] : [])]}>
          <Heading>After your change</Heading>
          <HiddenHeading>Actions</HiddenHeading>
        </Headings>
        <tbody>
          {[...edits].flatMap(([id, edit]) =>
            [...edit.cells].map(([name, cell], at) => (
              <tr key={`${id} ${name}`} class={edit.now === undefined ? "" : "differs"}>
                {at === 0 && (
                  <th scope="rowgroup" rowSpan={edit.cells.size}>
                    {keyText(edit.read.primaryKey)}
                    {edit.now === null && <span class="tag caution">gone</span>}
                    {edit.error !== undefined && <ErrorNote error={edit.error} />}
                  </th>
                )}
                <td>{name}</td>
                <td class="whole">
                  <Stored row={edit.read} name={name} />
                </td>
                {conflicts && <td class="whole">{edit.now !== undefined && <Stored row={edit.now} name={name} />}</td>}
                <td class="whole">
                  <EditText edit={cell} /> {!cell.gone && <span class="type">{cell.type}</span>}
                </td>
                {at === 0 && (
                  <td rowSpan={edit.cells.size} class="right">
                    {edit.now !== undefined && (
                      <button type="button" class="button small danger" aria-disabled={busy} onClick={() => onOverwrite(id, edit)}>
                        Overwrite
                      </button>
                    )}{" "}
                    <button type="button" class="button small" aria-disabled={busy} onClick={() => onGiveUp(id)}>
                      {edit.now === undefined ? "Discard" : "Keep what is stored"}
                    </button>
                    <SameAs
                      lead="This row is the same as"
                      request={{
                        operation: "updateRow",
                        request: {
                          tableName: table.tableName,
                          primaryKey: keyOf(edit.read),
                          ...updateOf(edit),
                          condition: conditionOf(edit.read, [...edit.cells.keys()]),
                        },
                      }}
                      table={table}
                    />
                  </td>
                )}
              </tr>
            )),
          )}
        </tbody>
      </table>
    </div>
  );
}

/** The panel. */
export function EditsPanel(props: EditsPanelProps) {
  const { table, edits, onChange, onSaved } = props;
  const [open, setOpen] = useState(false);
  useCellInSight();
  const action = useAction();
  const conflicts = [...edits.values()].filter(({ now }) => now !== undefined).length;
  const troubled = conflicts > 0 || [...edits.values()].some(({ error }) => error !== undefined);
  const without = (id: string) => new Map([...edits].filter(([one]) => one !== id));
  const save = () =>
    action.run(async () => {
      const left = new Map(edits);
      for (const [id, edit] of edits) {
        const rest = await saved(table, edit);
        if (rest === undefined) left.delete(id);
        else left.set(id, rest);
        onChange(new Map(left));
      }
      if (left.size < edits.size) onSaved();
    });
  const overwrite = (id: string, edit: RowEdit) =>
    action.run(async () => {
      const primaryKey = keyOf(edit.read);
      await logged("UpdateRow", `${table.tableName}, ${keyText(primaryKey)}`, () =>
        database().updateRow({ tableName: table.tableName, primaryKey, ...updateOf(edit) }),
      );
      onChange(without(id));
      onSaved();
    });
  const giveUp = (id: string) => {
    const conflict = edits.get(id)?.now !== undefined;
    onChange(without(id));
    if (conflict) onSaved();
  };
  return (
    <section class="edits" aria-label="Changes">
      {conflicts > 0 && (
        <Banner tone="warning" title={`${counted(conflicts, "row")} ${conflicts === 1 ? "is not as it was read" : "are not as they were read"}`}>
          Nothing of {conflicts === 1 ? "it" : "them"} was stored. Somebody else has changed what you change, in another tab or another program.
        </Banner>
      )}
      <div class="row">
        <strong role="status">{editsText(edits)}</strong>
        <button type="button" class="button small" aria-expanded={open || troubled} aria-disabled={troubled} onClick={() => setOpen(!open)}>
          {open || troubled ? "Hide" : "Show"} them
        </button>
        <span class="push" />
        <button type="button" class="button" aria-disabled={action.busy} onClick={() => !action.busy && onChange(new Map())}>
          Discard
        </button>
        <button type="button" class="button primary" aria-disabled={action.busy} onClick={save}>
          Save
        </button>
      </div>
      <ErrorNote error={action.error} />
      {(open || troubled) && <Changes {...props} busy={action.busy} onOverwrite={overwrite} onGiveUp={giveUp} />}
    </section>
  );
}
