/** Puts a row: a new one, or a whole one in place of the stored one. */

import { useState } from "preact/hooks";
import { AUTO_INCREMENT, type AutoIncrement, type Condition, type KeyValue, type PrimaryKey, type Row, type TableDescription, type Value } from "tabstore";
import type { ShellRequest } from "tabstore/shell";

import { asError } from "../lib/ended-call.ts";
import { keyText } from "../lib/keys.ts";
import { parseKey, text } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Check, Field, Select, TextField } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { conditionOf } from "../lib/row-changes.ts";
import { attributesOf, DraftsEditor, draftsOf, wantedColumns } from "./drafts.tsx";
import { RowConflict } from "./row-conflict.tsx";
import { unlessChanged } from "./unless-changed.ts";

/** The props of the dialog. */
export interface PutDialogProps {
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

const AS_A_WHOLE = "is replaced as a whole: columns that are not given here are gone.";
const REPLACED = `The stored row ${AS_A_WHOLE}`;
const EFFECTS: Readonly<Record<Expectation, string>> = {
  AS_READ: REPLACED,
  EXPECT_EXIST: REPLACED,
  EXPECT_NOT_EXIST: "A row that has this key already stays as it is, and this one is refused.",
  IGNORE: `A row that has this key already ${AS_A_WHOLE}`,
};

/** The key that the texts of its columns stand for; `assigned`: the store gives the value of the column that it may assign. */
function keyFrom(table: TableDescription, texts: readonly string[], assigned: boolean): Record<string, KeyValue | AutoIncrement> {
  const primaryKey: Record<string, KeyValue | AutoIncrement> = {};
  table.primaryKey.forEach(({ name, type, autoIncrement }, at) => {
    if (autoIncrement && assigned) {
      primaryKey[name] = AUTO_INCREMENT;
      return;
    }
    try {
      primaryKey[name] = parseKey(type, texts[at] ?? "");
    } catch (error) {
      throw new Error(`Key column ${name}: ${(error as Error).message}.`);
    }
  });
  return primaryKey;
}

/** A write whose refusal tells which condition did not hold. */
async function explained(expectation: Expectation, write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (asError(error).code !== "OTSConditionCheckFail") throw error;
    throw new Error(
      expectation === "EXPECT_NOT_EXIST"
        ? "There is a row with this key already. Choose another key, or another condition."
        : "There is no row with this key. Choose another key, or another condition.",
    );
  }
}

/** The dialog. */
export function PutDialog({ table, row, onClose, onDone }: PutDialogProps) {
  const [read, setRead] = useState(row);
  const [key, setKey] = useState<readonly string[]>(() => table.primaryKey.map(({ name }) => (row === undefined ? "" : text(row.primaryKey[name] as Value))));
  const [drafts, setDrafts] = useState(() => draftsOf(row));
  const [expectation, setExpectation] = useState<Expectation>(row === undefined ? "EXPECT_NOT_EXIST" : "AS_READ");
  const [conflict, setConflict] = useState<{ readonly now: Row | null }>();
  /** Whether the form is shown again with what was typed, behind a conflict. */
  const [isBack, setBack] = useState(false);
  const [told, setTold] = useState("");
  /** Whether the store is to give the value that it may assign. */
  const [left, setLeft] = useState(true);
  const action = useAction();
  /** Whether the store gives a part of the key, and so the row is new. */
  const assigned = left && read === undefined && table.primaryKey.some(({ autoIncrement }) => autoIncrement);
  const put = async (condition: Condition) => {
    const request = { tableName: table.tableName, primaryKey: keyFrom(table, key, assigned), attributes: attributesOf(drafts) };
    if (assigned) {
      const stored = await logged("PutRow", table.tableName, () => database().putRow({ ...request, returnContent: "PRIMARY_KEY" }));
      onDone(stored.row?.primaryKey as PrimaryKey);
    } else {
      const primaryKey = request.primaryKey as PrimaryKey;
      await logged("PutRow", `${table.tableName}, ${keyText(primaryKey as Record<string, Value>)}`, () => database().putRow({ ...request, condition }));
      onDone(primaryKey);
    }
  };
  const submit = () =>
    action.run(async () => {
      if (expectation !== "AS_READ") await explained(expectation, put({ rowExistence: expectation }));
      else if (read !== undefined) setConflict(await unlessChanged(table, read, put));
    });
  /** The request that the form stands for; nothing while it is wrong. */
  const request = (): ShellRequest | undefined => {
    try {
      const given = { tableName: table.tableName, primaryKey: keyFrom(table, key, assigned), attributes: attributesOf(drafts) };
      if (assigned) return { operation: "putRow", request: { ...given, returnContent: "PRIMARY_KEY" } };
      const condition = expectation !== "AS_READ" ? { rowExistence: expectation } : read === undefined ? undefined : conditionOf(read);
      return { operation: "putRow", request: { ...given, condition } };
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
      setBack(false);
      setTold("This is what is stored now.");
    };
    const back = () => {
      setConflict(undefined);
      setBack(true);
    };
    return (
      <RowConflict
        title={title}
        wish="After your replace"
        read={read}
        now={now}
        wanted={wantedColumns(drafts)}
        action={action}
        onBack={back}
        onOverwrite={() => action.run(() => put({}))}
        onReload={reload}
        onClose={back}
      />
    );
  }
  return (
    <Dialog
      title={title}
      size="wide"
      onClose={onClose}
      onSubmit={submit}
      unstored={isBack}
      footer={
        <Answers onClose={onClose} busy={action.busy}>
          Put row
        </Answers>
      }
    >
      <div class="stack">
        <fieldset class="columns">
          <legend>Primary key</legend>
          {table.primaryKey.map(({ name, type, autoIncrement }, at) => (
            <div key={name} class="stack tight">
              <TextField
                label={
                  <>
                    {name} <span class="type">{type}</span>
                  </>
                }
                name={`key-${name}`}
                value={autoIncrement && assigned ? "" : (key[at] ?? "")}
                placeholder={autoIncrement && assigned ? "assigned by the store" : undefined}
                disabled={read !== undefined || (autoIncrement && assigned)}
                numeric={type === "INTEGER"}
                focused={at === 0 && read === undefined}
                onInput={(typed) => setKey(key.map((before, place) => (place === at ? typed : before)))}
              />
              {autoIncrement && read === undefined && (
                <Check checked={left} onChange={setLeft}>
                  The store assigns it
                </Check>
              )}
            </div>
          ))}
        </fieldset>
        <DraftsEditor drafts={drafts} onChange={setDrafts} />
        {!assigned && (
          <Field label="Condition" hint={EFFECTS[expectation]}>
            {(ties) => <Select<Expectation> id={ties.id} value={expectation} onChange={setExpectation} options={read === undefined ? OF_NEW : OF_STORED} />}
          </Field>
        )}
        <p role="status" class={told === "" ? "visually-hidden" : "told"}>
          {told}
        </p>
        <ErrorNote error={action.error} />
        <SameAs request={request()} table={table} />
      </div>
    </Dialog>
  );
}
