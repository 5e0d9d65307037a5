/** The shown table of an account: its actions and its entities. Without one, the next steps. */

import { useMemo, useState } from "preact/hooks";

import { route, showEntities } from "../state/route.ts";
import { database, session } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { DeleteDialog } from "../tables/delete-dialog.tsx";
import { useAction } from "../ui/action.ts";
import { focusMain } from "../ui/focus.ts";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { createTable, deleteTable } from "./client.ts";
import { EntityBrowser } from "./browser.tsx";
import { loadSample, SAMPLE_ENTITIES, SAMPLE_TABLE } from "./samples.ts";
import { CreateAzureTable } from "./side.tsx";
import { accountError, accountTables, refreshAccount, sameName } from "./tables.ts";

/** The page without a table. */
function Nothing({ account }: { readonly account: string }) {
  const [creating, setCreating] = useState(false);
  const action = useAction();
  const missing = route.value.entities;
  const tables = accountTables.value;
  if (tables === undefined) return null;
  const sample = () =>
    action.run(async () => {
      const place = { db: database(), account, table: SAMPLE_TABLE };
      await createTable(place);
      await loadSample(place);
      await refreshAccount();
      focusMain();
      showEntities(account, SAMPLE_TABLE);
    });
  const wrong = accountError.value !== undefined;
  const empty = tables.length === 0 && !wrong;
  return (
    <div class="nothing">
      <h1 id="title">
        {wrong
          ? `The account ${account} cannot be shown`
          : missing !== undefined
            ? `There is no Azure table called ${missing}`
            : empty
              ? "An empty account"
              : "Choose an Azure table"}
      </h1>
      <p>
        {wrong
          ? "The reason stands at the side."
          : empty
            ? "An account of the Azure Table service, kept by this instance. Create a table, or load a sample to have something to look at."
            : `The account ${account} has the tables at the side. Their entities are shown here.`}
      </p>
      {empty && (
        <div class="row">
          <button type="button" class="button primary" aria-disabled={action.busy} onClick={sample}>
            <Icon name="upload" /> Load a sample
          </button>
          <button type="button" class="button" onClick={() => setCreating(true)}>
            <Icon name="add" /> New table
          </button>
        </div>
      )}
      {empty && (
        <p class="hint">
          The sample is the table {SAMPLE_TABLE}: {SAMPLE_ENTITIES} entities in three partitions, with properties of all types.
        </p>
      )}
      <ErrorNote error={action.error} />
      {creating && <CreateAzureTable account={account} onClose={() => setCreating(false)} />}
    </div>
  );
}

/** The view. */
export function AzureView() {
  const [deleting, setDeleting] = useState(false);
  const action = useAction();
  const { account = "", entities } = route.value;
  const table = accountTables.value?.find((name) => entities !== undefined && sameName(name, entities));
  const current = session.value;
  const db = current.state === "open" ? current.db : undefined;
  const place = useMemo(() => (db === undefined || table === undefined ? undefined : { db, account, table }), [db, account, table]);
  if (db === undefined) return null;
  if (place === undefined) return <Nothing key={account} account={account} />;
  const remove = async () => {
    await deleteTable(place);
    await refreshAccount();
  };
  const sample = () =>
    action.run(async () => {
      await loadSample(place);
      rowsChanged.value += 1;
    });
  return (
    <>
      <header class="table-head">
        <h1 id="title">{place.table}</h1>
        <div class="row push">
          <button
            type="button"
            class="button"
            aria-disabled={action.busy}
            title={`Stores ${SAMPLE_ENTITIES} entities with properties of all types`}
            onClick={sample}
          >
            <Icon name="upload" /> Load sample
          </button>
          <button type="button" class="button" onClick={() => setDeleting(true)}>
            <Icon name="remove" /> Delete table
          </button>
        </div>
        <ul class="facts" aria-label="About the table">
          <li>
            Azure table of the account <b>{account}</b>
          </li>
          <li title="These two are the key of an entity">
            <span class="tag key">PartitionKey</span> <span class="tag key">RowKey</span>
          </li>
        </ul>
      </header>
      <ErrorNote error={action.error} />
      <EntityBrowser key={`${account}/${place.table}`} place={place} />
      {deleting && (
        <DeleteDialog
          tableName={place.table}
          contents="entities"
          onDelete={remove}
          onDeleted={() => showEntities(account)}
          onClose={() => setDeleting(false)}
        />
      )}
    </>
  );
}
