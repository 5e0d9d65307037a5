/** Changes one column of a row: puts a value as a new version, or adds to a counter. */

import { useContext, useState } from "preact/hooks";
import type { Row, TableDescription, UpdateRow, ValueType } from "tabstore";
import type { ShellRequest } from "tabstore/shell";

import { conditionOf, type RowColumn } from "../lib/row-changes.ts";
import { parse, parseVersion, VALUE_TYPES } from "../lib/values.ts";
import { AroundDialog } from "../ui/dialog.tsx";
import { Field, Select, TextField } from "../ui/field.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { ValueInput } from "./value-input.tsx";

/** The props of the form. */
interface ChangeFormProps {
  readonly table: TableDescription;
  readonly row: Row;
  readonly busy: boolean;
  /** Called with the change, with the column as it will be if it is put, and with what to call once the change is stored. */
  readonly onUpdate: (change: Omit<UpdateRow, "primaryKey">, wanted: RowColumn | undefined, stored: () => void) => void;
  /** Called with what is wrong with the input. */
  readonly onWrong: (error: unknown) => void;
}

/** The form. */
export function ChangeForm({ table, row, busy, onUpdate, onWrong }: ChangeFormProps) {
  const [kind, setKind] = useState<"put" | "increment">("put");
  const [name, setName] = useState("");
  const [type, setType] = useState<ValueType>("STRING");
  const [typed, setTyped] = useState("");
  const [version, setVersion] = useState("");
  const isIndexed = table.indexes.length > 0;
  // What was typed stays for the next change.
  const { taken } = useContext(AroundDialog);
  const rename = (column: string) => {
    setName(column);
    // A column that the row has most likely keeps its type.
    const known = row.type(column);
    if (known !== undefined) setType(known);
  };
  /** The change that the form stands for. */
  const change = (): Omit<UpdateRow, "primaryKey"> => {
    if (name === "") throw new Error("Name the column.");
    if (kind === "increment") return { increment: { [name]: parse("INTEGER", typed) as bigint } };
    const at = parseVersion(version);
    const value = parse(type, typed);
    return { put: { [name]: at === undefined ? value : [{ value, version: at }] } };
  };
  const request = (): ShellRequest | undefined => {
    try {
      // The value that goes has to be the one that was read; of several versions it stays.
      const condition = kind === "put" && table.maxVersions === 1 ? conditionOf(row, [name]) : undefined;
      return { operation: "updateRow", request: { tableName: table.tableName, primaryKey: row.primaryKey, ...change(), condition } };
    } catch {
      return undefined;
    }
  };
  const submit = () => {
    try {
      onUpdate(change(), kind === "put" ? { name, type, text: typed, cells: [] } : undefined, taken);
    } catch (error) {
      onWrong(error);
    }
  };
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <fieldset class="change">
        <legend>Update the row</legend>
        <Field label="Change">
          {({ id }) => (
            <Select
              id={id}
              value={kind}
              onChange={setKind}
              options={[
                ["put", "Put value"],
                ["increment", "Increment"],
              ]}
            />
          )}
        </Field>
        <Field label="Column">
          {(ties) => (
            <input
              {...ties}
              type="text"
              name="column"
              list="known-columns"
              value={name}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => rename(event.currentTarget.value)}
            />
          )}
        </Field>
        <datalist id="known-columns">
          {row.columnNames.map((known) => (
            <option key={known} value={known} />
          ))}
        </datalist>
        {kind === "put" ? (
          <>
            <Field label="Type">{({ id }) => <Select id={id} value={type} onChange={setType} options={VALUE_TYPES} />}</Field>
            <Field label="Value">{({ id }) => <ValueInput id={id} type={type} value={typed} onInput={setTyped} />}</Field>
            <TextField
              label="Version"
              name="version"
              value={version}
              onInput={setVersion}
              placeholder="the clock"
              disabled={isIndexed}
              hint={isIndexed ? "A table with an index takes none." : undefined}
            />
          </>
        ) : (
          <TextField label="Add" name="delta" value={typed} onInput={setTyped} numeric placeholder="1, or -1" />
        )}
        <button type="submit" class="button primary" aria-disabled={busy}>
          Update
        </button>
      </fieldset>
      <SameAs request={request()} table={table} />
    </form>
  );
}
