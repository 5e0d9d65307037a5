/** Creates a table. */

import { useState } from "preact/hooks";
import type { KeyColumn } from "tabstore";

import { legalName, MOST_KEY_COLUMNS } from "../importing/plan.ts";
import { moreTrouble, NO_MORE, toMore } from "../lib/table-schema.ts";
import { DEFAULT_OPTIONS, optionErrors, toOptions } from "../lib/table-options.ts";
import { KEY_TYPES } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { showTable } from "../state/route.ts";
import { database } from "../state/session.ts";
import { findTable, refreshTables } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Check, Select, TextField } from "../ui/field.tsx";
import { focusMain } from "../ui/focus.ts";
import { lazily } from "../ui/lazily.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { ColumnList, NameInput } from "./column-list.tsx";
import type { MoreFieldsProps } from "./more-fields.tsx";
import { OptionsFields } from "./options-fields.tsx";
import { throughputError, ThroughputFields } from "./throughput-fields.tsx";

const MoreFields = lazily<MoreFieldsProps>(async () => (await import("./more-fields.tsx")).MoreFields);

function KeyEditor({ value, onChange }: { readonly value: readonly KeyColumn[]; readonly onChange: (value: readonly KeyColumn[]) => void }) {
  return (
    <ColumnList
      legend="Primary key"
      value={value}
      onChange={onChange}
      about={(place) => `key column ${place}`}
      line={(column, about, set, at) => (
        <>
          <NameInput about={about} name={`key${at + 1}`} value={column.name} onInput={(name) => set({ ...column, name })} />
          <Select label={`Type of ${about}`} value={column.type} options={KEY_TYPES} onChange={(type) => set({ ...column, type, autoIncrement: false })} />
          {at > 0 && column.type === "INTEGER" ? (
            <Check checked={column.autoIncrement === true} onChange={(autoIncrement) => set({ ...column, autoIncrement })}>
              the store assigns it
            </Check>
          ) : (
            <span />
          )}
        </>
      )}
      fresh={{ name: "", type: "STRING" }}
      adds="Key column"
      hint="Rows sort by these columns. The first is the partition key. They never change."
      least={1}
      most={MOST_KEY_COLUMNS}
    />
  );
}

/** The key as it is sent. */
function keyOf(key: readonly KeyColumn[]): readonly KeyColumn[] {
  return key.map(({ name, type, autoIncrement }) => ({ name, type, ...(autoIncrement ? { autoIncrement } : {}) }));
}

/** What is wrong with the name, if something is. */
function nameTrouble(name: string): string | undefined {
  if (!legalName(name)) return "1 to 255 letters, digits and _, first no digit.";
  return findTable(name) === undefined ? undefined : `There is a table called ${name} already.`;
}

/** The reason that the form cannot be sent, if there is one. */
function trouble(name: string, key: readonly KeyColumn[]): string | undefined {
  if (nameTrouble(name) !== undefined) return nameTrouble(name);
  const wrong = key.findIndex((column) => !legalName(column.name));
  if (wrong >= 0) return `Key column ${wrong + 1}: 1 to 255 letters, digits and _, first no digit.`;
  if (new Set(key.map((column) => column.name)).size < key.length) return "Two key columns have the same name.";
  if (key.filter(({ autoIncrement }) => autoIncrement).length > 1) return "The store assigns one column of a key at most.";
  return undefined;
}

/** The dialog. */
export function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [key, setKey] = useState<readonly KeyColumn[]>([{ name: "id", type: "STRING" }]);
  const [options, setOptions] = useState(DEFAULT_OPTIONS);
  const [throughput, setThroughput] = useState({ read: "0", write: "0" });
  const [more, setMore] = useState(NO_MORE);
  /** Whether it was sent once: from then on the name's error stands at its field. */
  const [tried, setTried] = useState(false);
  const [opened, setOpened] = useState(false);
  const action = useAction();
  const wrong =
    Object.keys(optionErrors(options)).length > 0 || throughputError(throughput.read) !== undefined || throughputError(throughput.write) !== undefined;
  const request = () => ({
    tableName: name,
    primaryKey: keyOf(key),
    ...toOptions(options),
    reservedThroughput: { read: Number(throughput.read), write: Number(throughput.write) },
    ...toMore(more),
  });
  const submit = () =>
    action.run(async () => {
      setTried(true);
      if (nameTrouble(name) !== undefined) return;
      const why = trouble(name, key) ?? moreTrouble(key, toOptions(options), more);
      if (why !== undefined) throw new Error(why);
      await logged("CreateTable", name, () => database().createTable(request()));
      await refreshTables();
      focusMain();
      onClose();
      showTable(name);
    });
  return (
    <Dialog
      title="Create a table"
      size="wide"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} disabled={wrong} busy={action.busy}>
          Create table
        </Answers>
      }
    >
      <div class="stack">
        <TextField
          label="Table name"
          name="tableName"
          value={name}
          onInput={setName}
          error={tried ? nameTrouble(name) : undefined}
          focused
          hint="Letters, digits and _, first no digit. Upper and lower case differ."
        />
        {/* Its error stands at the field; who does not see it hears it. */}
        <p role="alert" class="visually-hidden">
          {tried && nameTrouble(name)}
        </p>
        <KeyEditor value={key} onChange={setKey} />
        <OptionsFields value={options} onChange={setOptions} />
        <ThroughputFields value={throughput} onChange={setThroughput} hint="A budget of capacity units. Using more is never refused, only counted apart." />
        <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
          <summary>Indexes, defined columns, stream, transactions</summary>
          {opened && <MoreFields primaryKey={key} value={more} onChange={setMore} />}
        </details>
        <ErrorNote error={action.error} />
        <SameAs
          request={
            wrong || (trouble(name, key) ?? moreTrouble(key, toOptions(options), more)) !== undefined
              ? undefined
              : { operation: "createTable", request: request() }
          }
        />
      </div>
    </Dialog>
  );
}
