/** The account and its tables, at the side. */

import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";

import { route, showEntities } from "../state/route.ts";
import { database, session } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Select, TextField } from "../ui/field.tsx";
import { focusMain } from "../ui/focus.ts";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { checkAccount, createTable } from "./client.ts";
import { account, accountError, accountTables, offeredAccounts, refreshAccount, sameName } from "./tables.ts";

interface NameDialogProps {
  readonly title: string;
  /** What the field asks for, its name, and the rule. */
  readonly label: string;
  readonly name: string;
  readonly hint: string;
  /** What the button does. */
  readonly verb: string;
  /** Does it; the dialog closes when it is done. */
  readonly onName: (given: string) => Promise<void> | void;
  /** Shows what was named. */
  readonly show: (given: string) => void;
  readonly onClose: () => void;
}

/** Asks for a name, and shows what has it. */
function NameDialog({ title, label, name, hint, verb, onName, show, onClose }: NameDialogProps) {
  const [given, setGiven] = useState("");
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      await onName(given);
      focusMain();
      onClose();
      show(given);
    });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} busy={action.busy}>
          {verb}
        </Answers>
      }
    >
      <div class="stack">
        <TextField label={label} name={name} value={given} onInput={setGiven} focused hint={hint} />
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}

/** Asks for the name of another account. */
function AccountDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <NameDialog
      title="Another account"
      label="Account name"
      name="account"
      verb="Show account"
      onClose={onClose}
      hint="3 to 24 letters and digits. An account needs no making: it keeps its tables apart from those of the others."
      onName={(given) => checkAccount(database(), given)}
      show={(given) => showEntities(given.toLowerCase())}
    />
  );
}

/** Makes a table. */
export function CreateAzureTable({ account: name, onClose }: { readonly account: string; readonly onClose: () => void }) {
  const create = async (table: string): Promise<void> => {
    await createTable({ db: database(), account: name, table });
    await refreshAccount();
  };
  return (
    <NameDialog
      title="Create an Azure table"
      label="Table name"
      name="azureTable"
      verb="Create table"
      onClose={onClose}
      hint="3 to 63 letters and digits, first a letter. Upper and lower case do not differ."
      onName={create}
      show={(table) => showEntities(name, table)}
    />
  );
}

/** The side's part. */
export function AzureSide() {
  const [dialog, setDialog] = useState<"account" | "create">();
  const close = () => setDialog(undefined);
  useSignalEffect(() => {
    // Whatever of these changes, the tables may have.
    void [session.value, account.value, rowsChanged.value];
    void refreshAccount();
  });
  const name = account.value ?? "";
  const list = accountTables.value;
  return (
    <>
      <div class="row account-choice">
        <Select label="Account" value={name.toLowerCase()} options={offeredAccounts(name)} onChange={(other) => showEntities(other)} />
        <button type="button" class="button square" aria-label="Another account" title="Another account" onClick={() => setDialog("account")}>
          <Icon name="add" />
        </button>
      </div>
      <button type="button" class="button" onClick={() => setDialog("create")}>
        <Icon name="add" /> New Azure table
      </button>
      <ErrorNote error={accountError.value} />
      <ul class="table-list">
        {list?.map((table) => (
          <li key={table}>
            <button
              type="button"
              aria-current={route.value.entities !== undefined && sameName(route.value.entities, table) ? "page" : undefined}
              onClick={() => {
                showEntities(name, table);
                focusMain();
              }}
            >
              <Icon name="table" />
              <span class="table-name">{table}</span>
            </button>
          </li>
        ))}
      </ul>
      {list?.length === 0 && accountError.value === undefined && <p class="empty">No tables in this account yet.</p>}
      {dialog === "account" && <AccountDialog onClose={close} />}
      {dialog === "create" && <CreateAzureTable account={name} onClose={close} />}
    </>
  );
}
