/** Puts a row: a new one, or a whole one in place of the stored one. */

import { useState } from "preact/hooks";
import type { InputCell, KeyValue, PrimaryKey, Row, TableDescription, Value, ValueType } from "tabstore";

import { keyText } from "../lib/keys.ts";
import { parse, parseKey, parseVersion, text, typeOf, VALUE_TYPES } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Select, TextField } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { ValueInput } from "./value-input.tsx";

/** The props of the dialog. */
interface PutDialogProps {
  readonly table: TableDescription;
  /** The row to replace; none: a new one. */
  readonly row?: Row | undefined;
  readonly onClose: () => void;
  readonly onDone: (key: PrimaryKey) => void;
}

/** A cell as it is typed. */
interface Draft {
  readonly id: number;
  readonly name: string;
  readonly type: ValueType;
  readonly value: string;
  readonly version: string;
}

type Expectation = "IGNORE" | "EXPECT_NOT_EXIST" | "EXPECT_EXIST";

let lastId = 0;

function draft(name = "", value?: Value): Draft {
  return { id: ++lastId, name, type: value === undefined ? "STRING" : typeOf(value), value: value === undefined ? "" : text(value), version: "" };
}

/** The cells of the drafts, by column: several of one column are several versions. */
function attributesOf(drafts: readonly Draft[]): Record<string, InputCell[]> {
  const attributes: Record<string, InputCell[]> = {};
  for (const { name, type, value, version } of drafts) {
    if (name === "" && value === "") continue;
    if (name === "") throw new Error(`The value “${value}” has no column.`);
    try {
      const at = parseVersion(version);
      (attributes[name] ??= []).push({ value: parse(type, value), ...(at === undefined ? {} : { version: at }) });
    } catch (error) {
      throw new Error(`Column ${name}: ${(error as Error).message}.`);
    }
  }
  return attributes;
}

function DraftRow({ value, onChange, onRemove }: { readonly value: Draft; readonly onChange: (value: Draft) => void; readonly onRemove: () => void }) {
  const about = value.name === "" ? "this column" : value.name;
  return (
    <tr role="row">
      <td role="cell"><input type="text" name="column" aria-label="Column" value={value.name} placeholder="column" autocomplete="off" spellcheck={false} onInput={(event) => onChange({ ...value, name: event.currentTarget.value })} /></td>
      <td role="cell"><Select label={`Type of ${about}`} value={value.type} options={VALUE_TYPES} onChange={(type) => onChange({ ...value, type })} /></td>
      <td role="cell" class="whole"><ValueInput label={`Value of ${about}`} type={value.type} value={value.value} onInput={(typed) => onChange({ ...value, value: typed })} /></td>
      <td role="cell" class="version"><input type="text" name="version" aria-label={`Version of ${about}`} value={value.version} placeholder="the clock" autocomplete="off" onInput={(event) => onChange({ ...value, version: event.currentTarget.value })} /></td>
      <td role="cell"><button type="button" class="button quiet square" aria-label={`Leave out ${about}`} onClick={onRemove}><Icon name="close" /></button></td>
    </tr>
  );
}

/** The dialog. */
export function PutDialog({ table, row, onClose, onDone }: PutDialogProps) {
  const [key, setKey] = useState<readonly string[]>(() => table.primaryKey.map(({ name }) => (row === undefined ? "" : text(row.primaryKey[name] as Value))));
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => (row === undefined ? [draft()] : row.columnNames.map((name) => draft(name, row.get(name)))));
  const [expectation, setExpectation] = useState<Expectation>(row === undefined ? "EXPECT_NOT_EXIST" : "EXPECT_EXIST");
  const action = useAction();
  const submit = () => action.run(async () => {
    const primaryKey: Record<string, KeyValue> = {};
    table.primaryKey.forEach(({ name, type }, at) => {
      try {
        primaryKey[name] = parseKey(type, key[at] ?? "");
      } catch (error) {
        throw new Error(`Key column ${name}: ${(error as Error).message}.`);
      }
    });
    const attributes = attributesOf(drafts);
    await logged("PutRow", `${table.tableName}, ${keyText(primaryKey)}`, () => database().putRow({
      tableName: table.tableName, primaryKey, attributes, condition: { rowExistence: expectation },
    }));
    onDone(primaryKey);
  });
  return (
    <Dialog title={row === undefined ? `Put a row into ${table.tableName}` : `Replace ${keyText(row.primaryKey)}`} size="wide" onClose={onClose} onSubmit={submit} footer={<>
      <button type="button" class="button" onClick={onClose}>Cancel</button>
      <button type="submit" class="button primary" aria-disabled={action.busy}>Put row</button>
    </>}>
      <div class="stack">
        <fieldset class="columns">
          <legend>Primary key</legend>
          {table.primaryKey.map(({ name, type }, at) => (
            <TextField key={name} label={<>{name} <span class="type">{type}</span></>} name={`key-${name}`} value={key[at] ?? ""} disabled={row !== undefined} numeric={type === "INTEGER"} focused={at === 0 && row === undefined}
              onInput={(typed) => setKey(key.map((before, place) => (place === at ? typed : before)))} />
          ))}
        </fieldset>
        <fieldset class="stack tight">
          <legend>Attribute columns</legend>
          <div class="grid-scroll">
            <table class="grid editor" role="table">
              <thead role="rowgroup"><tr role="row">{["Column", "Type", "Value", "Version"].map((title) => <th key={title} role="columnheader" scope="col">{title}</th>)}<th role="columnheader" scope="col"><span class="visually-hidden">Leave out</span></th></tr></thead>
              <tbody role="rowgroup">
                {drafts.map((one) => (
                  <DraftRow key={one.id} value={one} onChange={(changed) => setDrafts(drafts.map((before) => (before.id === one.id ? changed : before)))} onRemove={() => setDrafts(drafts.filter(({ id }) => id !== one.id))} />
                ))}
              </tbody>
            </table>
          </div>
          <div class="row">
            <button type="button" class="button small" onClick={() => setDrafts([...drafts, draft()])}><Icon name="add" /> Column</button>
            <span class="hint">The same column twice, with different versions, stores both. A row may have no columns at all.</span>
          </div>
        </fieldset>
        <Field label="Condition" hint="A row that exists is replaced as a whole: columns that are not given here are gone.">
          {(ties) => <Select id={ties.id} value={expectation} onChange={setExpectation} options={[["EXPECT_NOT_EXIST", "The row must not exist yet"], ["EXPECT_EXIST", "The row must exist"], ["IGNORE", "No condition"]]} />}
        </Field>
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}
