/** Puts a row: a new one, or a whole one in place of the stored one. */

import { useState } from "preact/hooks";
import type { Condition, KeyValue, PrimaryKey, Row, TableDescription, Value } from "tabstore";
import type { ShellRequest } from "tabstore/shell";

import { keyText } from "../lib/keys.ts";
import { parseKey, text } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Field, Select, TextField } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { conditionOf } from "../lib/row-changes.ts";
import { attributesOf, DraftsEditor, draftsOf, wantedColumns } from "./drafts.tsx";
import { RowConflict } from "./row-conflict.tsx";
import { unlessChanged } from "./unless-changed.ts";

/** The props of the dialog. */
interface PutDialogProps {
  readonly table: TableDescription;
  /** The row to replace, with all its versions; none: a new one. */
  readonly row?: Row | undefined;
  readonly onClose: () => void;
  /** Called when the row is stored, or when it is seen to be gone. */
  readonly onDone: (key: PrimaryKey) => void;
}

/** `AS_READ` is the console's own: the row is as the person has read it. */
type Expectation = "AS_READ" | "EXPECT_EXIST" | "EXPECT_NOT_EXIST" | "IGNORE";

const OF_NEW = [
  ["EXPECT_NOT_EXIST", "The row must not exist yet"],
  ["EXPECT_EXIST", "The row must exist"],
  ["IGNORE", "No condition"],
] as const;
const OF_STORED = [
  ["AS_READ", "The row must be as it was read here"],
  ["EXPECT_EXIST", "The row must exist"],
  ["IGNORE", "No condition"],
] as const;

/** The key that the texts of its columns stand for. */
function keyFrom(table: TableDescription, texts: readonly string[]): Record<string, KeyValue> {
  const primaryKey: Record<string, KeyValue> = {};
  table.primaryKey.forEach(({ name, type }, at) => {
    try {
      primaryKey[name] = parseKey(type, texts[at] ?? "");
    } catch (error) {
      throw new Error(`Key column ${name}: ${(error as Error).message}.`);
    }
  });
  return primaryKey;
}

/** The dialog. */
export function PutDialog({ table, row, onClose, onDone }: PutDialogProps) {
  const [read, setRead] = useState(row);
  const [key, setKey] = useState<readonly string[]>(() => table.primaryKey.map(({ name }) => (row === undefined ? "" : text(row.primaryKey[name] as Value))));
  const [drafts, setDrafts] = useState(() => draftsOf(row));
  const [expectation, setExpectation] = useState<Expectation>(row === undefined ? "EXPECT_NOT_EXIST" : "AS_READ");
  const [conflict, setConflict] = useState<{ readonly now: Row | null }>();
  const [told, setTold] = useState("");
  const action = useAction();
  const put = async (condition: Condition) => {
    const primaryKey = keyFrom(table, key);
    const attributes = attributesOf(drafts);
    await logged("PutRow", `${table.tableName}, ${keyText(primaryKey)}`, () =>
      database().putRow({ tableName: table.tableName, primaryKey, attributes, condition }),
    );
    onDone(primaryKey);
  };
  const submit = () =>
    action.run(async () => {
      if (expectation !== "AS_READ") await put({ rowExistence: expectation });
      else if (read !== undefined) setConflict(await unlessChanged(table, read, put));
    });
  /** The request that the form stands for; nothing while it is wrong. */
  const request = (): ShellRequest | undefined => {
    try {
      const condition = expectation !== "AS_READ" ? { rowExistence: expectation } : read === undefined ? undefined : conditionOf(read);
      return { operation: "putRow", request: { tableName: table.tableName, primaryKey: keyFrom(table, key), attributes: attributesOf(drafts), condition } };
    } catch {
      return undefined;
    }
  };
  const title = read === undefined ? `Put a row into ${table.tableName}` : `Replace ${keyText(read.primaryKey)}`;
  if (conflict !== undefined && read !== undefined) {
    const { now } = conflict;
    const reload = () => {
      if (now === null) return onDone(read.primaryKey);
      setRead(now);
      setDrafts(draftsOf(now));
      setConflict(undefined);
      setTold("This is what is stored now.");
    };
    return (
      <RowConflict
        title={title}
        wish="After your replace"
        read={read}
        now={now}
        wanted={wantedColumns(drafts)}
        action={action}
        onBack={() => setConflict(undefined)}
        onOverwrite={() => action.run(() => put({}))}
        onReload={reload}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={title}
      size="wide"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} busy={action.busy}>
          Put row
        </Answers>
      }
    >
      <div class="stack">
        <fieldset class="columns">
          <legend>Primary key</legend>
          {table.primaryKey.map(({ name, type }, at) => (
            <TextField
              key={name}
              label={
                <>
                  {name} <span class="type">{type}</span>
                </>
              }
              name={`key-${name}`}
              value={key[at] ?? ""}
              disabled={read !== undefined}
              numeric={type === "INTEGER"}
              focused={at === 0 && read === undefined}
              onInput={(typed) => setKey(key.map((before, place) => (place === at ? typed : before)))}
            />
          ))}
        </fieldset>
        <DraftsEditor drafts={drafts} onChange={setDrafts} />
        <Field label="Condition" hint="A row that exists is replaced as a whole: columns that are not given here are gone.">
          {(ties) => <Select<Expectation> id={ties.id} value={expectation} onChange={setExpectation} options={read === undefined ? OF_NEW : OF_STORED} />}
        </Field>
        <p role="status" class={told === "" ? "visually-hidden" : "told"}>
          {told}
        </p>
        <ErrorNote error={action.error} />
        <SameAs request={request()} table={table} />
      </div>
    </Dialog>
  );
}
