/** The shown table: its description, its actions, and its rows. */

import { useEffect, useState } from "preact/hooks";
import type { TableDescription } from "tabstore";

import { Browser } from "../browse/browser.tsx";
import { count, instant, period, timeToLive } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { navigate, route, showEntities, showTable, showView } from "../state/route.ts";
import { database } from "../state/session.ts";
import { currentTable, refreshTables, tables } from "../state/tables.ts";
import { Icon } from "../ui/icon.tsx";
import { lazily } from "../ui/lazily.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { Partitions } from "./partitions.tsx";

const ImportDialog = lazily<{ readonly onClose: () => void }>(async () => (await import("../importing/import-dialog.tsx")).ImportDialog);

/** The props of a dialog about a table. */
interface TableDialogProps {
  readonly table: TableDescription;
  readonly onClose: () => void;
}

const ModifyDialog = lazily<TableDialogProps>(async () => (await import("./modify-dialog.tsx")).ModifyDialog);
const ExportDialog = lazily<TableDialogProps>(async () => (await import("./export-dialog.tsx")).ExportDialog);
const ChangesView = lazily<{ readonly table: TableDescription }>(async () => (await import("./changes-view.tsx")).ChangesView);
const SchemaView = lazily<{ readonly table: TableDescription }>(async () => (await import("./schema-view.tsx")).SchemaView);

/** The views of a table, each with its title. */
const VIEWS = [
  [undefined, "Rows"],
  ["schema", "Schema"],
  ["changes", "Changes"],
] as const;

/** The choice between them. */
function Views() {
  return (
    <nav class="button-group" aria-label="Views of the table">
      {VIEWS.map(([view, title]) => (
        <button
          key={title}
          type="button"
          class={`button small ${route.value.view === view ? "pressed" : ""}`}
          aria-current={route.value.view === view ? "page" : undefined}
          onClick={() => showView(view)}
        >
          {title}
        </button>
      ))}
    </nav>
  );
}

function Facts({ table }: { readonly table: TableDescription }) {
  const { read, write } = table.reservedThroughput;
  return (
    <ul class="facts" aria-label="Options of the table">
      {table.indexOf !== null && (
        <li>
          <span class="tag">index</span> of{" "}
          <button type="button" class="link" onClick={() => showTable(table.indexOf ?? undefined)}>
            {table.indexOf}
          </button>
        </li>
      )}
      {table.primaryKey.map(({ name, type, autoIncrement }, at) => (
        <li key={name} title={at === 0 ? "Partition key" : "Key column"}>
          <span class="tag key">{name}</span> {type}
          {autoIncrement && ", assigned"}
        </li>
      ))}
      {table.stream !== null && (
        <li title="Changes of its rows are recorded">
          <span class="tag good">stream</span> {count(table.stream.expirationHours)} h
        </li>
      )}
      <li title="Max versions">
        {count(table.maxVersions)} {table.maxVersions === 1 ? "version" : "versions"} a column
      </li>
      <li title={`Time to live: ${table.timeToLive}`}>{timeToLive(table.timeToLive)}</li>
      <li title={`Max version offset: ${table.maxVersionOffset} s`}>versions within {period(table.maxVersionOffset)} of the clock</li>
      {!table.allowUpdate && (
        <li>
          <span class="tag caution">updates not allowed</span>
        </li>
      )}
      {read + write > 0 && (
        <li>
          reserved: {count(read)} read, {count(write)} write units a second
        </li>
      )}
      <li class="faint" title="Created">
        since {instant(table.creationTime).slice(0, 16)}
      </li>
    </ul>
  );
}

/** The accounts that have Azure tables, if `wanted`. */
function useAccounts(wanted: boolean): readonly string[] {
  const [accounts, setAccounts] = useState<readonly string[]>([]);
  useEffect(() => {
    let over = false;
    // Nobody needs to hear of a failure: the accounts are an offer.
    if (wanted)
      void import("../azure/client.ts")
        .then(({ listAccounts }) => listAccounts(database()))
        .then(
          (names) => !over && setAccounts(names),
          () => {},
        );
    return () => {
      over = true;
      setAccounts([]);
    };
  }, [wanted]);
  return accounts;
}

/** The page without a table, with the next steps. */
function Nothing() {
  const [importing, setImporting] = useState(false);
  const missing = route.value.table;
  const empty = tables.value?.length === 0;
  const accounts = useAccounts(empty);
  if (tables.value === undefined) return null;
  const hint = empty
    ? "Create a table, or import one of the data sets to have something to look at."
    : missing !== undefined
      ? "It was deleted, or its name is written in another way: upper and lower case differ."
      : "Its rows are shown here.";
  const title =
    missing !== undefined ? `There is no table called ${missing}` : !empty ? "Choose a table" : accounts.length > 0 ? "Only Azure tables" : "An empty instance";
  return (
    <div class="nothing">
      <h1 id="title">{title}</h1>
      {accounts.length > 0 && (
        <>
          <p>This instance has Azure tables, by account:</p>
          <div class="row">
            {accounts.map((name) => (
              <button key={name} type="button" class="button" onClick={() => showEntities(name)}>
                {name}
              </button>
            ))}
          </div>
        </>
      )}
      <p>{hint}</p>
      {empty && (
        <button type="button" class="button primary" onClick={() => setImporting(true)}>
          <Icon name="upload" /> Import data
        </button>
      )}
      {importing && <ImportDialog onClose={() => setImporting(false)} />}
    </div>
  );
}

/** The view. */
export function TableView() {
  const [dialog, setDialog] = useState<"modify" | "export" | "delete">();
  const table = currentTable.value;
  if (table === undefined) return <Nothing />;
  const close = () => setDialog(undefined);
  // The options of an index are those of its table, and its table drops it.
  const isIndex = table.indexOf !== null;
  const remove = async () => {
    await logged("DeleteTable", table.tableName, () => database().deleteTable(table.tableName));
    await refreshTables();
  };
  return (
    <>
      <header class="table-head">
        <h1 id="title">{table.tableName}</h1>
        <div class="row push">
          {!isIndex && (
            <button type="button" class="button" onClick={() => setDialog("modify")}>
              <Icon name="edit" /> Modify table
            </button>
          )}
          <button type="button" class="button" title="Its versions along time, in a copy" onClick={() => navigate({ ...route.value, view: "time" })}>
            <Icon name="clock" /> Time machine
          </button>
          <button type="button" class="button" onClick={() => setDialog("export")}>
            <Icon name="download" /> Export rows
          </button>
          {!isIndex && (
            <button type="button" class="button" onClick={() => setDialog("delete")}>
              <Icon name="remove" /> Delete table
            </button>
          )}
        </div>
        <Facts table={table} />
        <Views />
      </header>
      {route.value.view === "schema" && <SchemaView key={table.tableName} table={table} />}
      {route.value.view === "changes" && <ChangesView key={table.tableName} table={table} />}
      {route.value.view === undefined && (
        <>
          <Partitions key={`partitions of ${table.tableName}`} tableName={table.tableName} column={table.primaryKey[0]?.name ?? ""} />
          <Browser key={table.tableName} table={table} />
        </>
      )}
      {dialog === "modify" && <ModifyDialog table={table} onClose={close} />}
      {dialog === "export" && <ExportDialog table={table} onClose={close} />}
      {dialog === "delete" && <DeleteDialog tableName={table.tableName} isOwn onDelete={remove} onDeleted={() => showTable(undefined)} onClose={close} />}
    </>
  );
}
