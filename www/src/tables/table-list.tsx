/** The tables of the instance, at the side. */

import { useState } from "preact/hooks";

import { pickedFile } from "../importing/picked.ts";
import { formatRoute, type RouteView } from "../lib/route.ts";
import { inFamilies } from "../lib/table-schema.ts";
import { lastAccount, route, showCodeView, showEntities, showInside, showTable, showUnits } from "../state/route.ts";
import { tables, tablesError } from "../state/tables.ts";
import { focusMain } from "../ui/focus.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { lazily } from "../ui/lazily.tsx";

const ImportDialog = lazily<{ readonly onClose: () => void }>(async () => (await import("../importing/import-dialog.tsx")).ImportDialog);
const CreateDialog = lazily<{ readonly onClose: () => void }>(async () => (await import("./create-dialog.tsx")).CreateDialog);
const AzureSide = lazily(async () => (await import("../azure/index.tsx")).AzureSide);

/** What is shown of the instance: each view with its title, its icon, and the way to it. */
const VIEWS: readonly (readonly [RouteView, string, IconName, () => void])[] = [
  ["units", "Units and calls", "chart", () => showUnits()],
  ["inside", "Inside", "engine", () => showInside(route.value.table)],
  ["code", "Code", "code", showCodeView],
];
const OF_ALL: readonly (RouteView | undefined)[] = VIEWS.map(([view]) => view);

/** The side of the page. */
export function TableList() {
  const [dialog, setDialog] = useState<"create" | "import" | undefined>(pickedFile.peek() === undefined ? undefined : "import");
  const close = () => setDialog(undefined);
  const list = tables.value;
  return (
    <nav class="side" aria-label="Tables">
      <div class="side-head">
        <h2>Tables {list !== undefined && <span class="number">{list.filter(({ indexOf }) => indexOf === null).length}</span>}</h2>
      </div>
      <div class="side-actions">
        <button type="button" class="button" onClick={() => setDialog("create")}>
          <Icon name="add" /> Create table
        </button>
        <button type="button" class="button" onClick={() => setDialog("import")}>
          <Icon name="upload" /> Import data
        </button>
      </div>
      {tablesError.value !== undefined && (
        <p class="error-note" role="alert">
          {tablesError.value}
        </p>
      )}
      <ul class="table-list">
        {inFamilies(list ?? []).map(({ tableName, primaryKey, indexOf }) => (
          <li key={tableName} class={indexOf === null ? "" : "index-table"}>
            <button
              type="button"
              aria-current={route.value.table === tableName && !OF_ALL.includes(route.value.view) ? "page" : undefined}
              onClick={() => {
                showTable(tableName);
                focusMain();
              }}
            >
              <Icon name="table" />
              <span class="table-name">{tableName}</span>
              <span class="faint">
                {indexOf !== null && "index: "}
                {primaryKey.map(({ name }) => name).join(", ")}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {list?.length === 0 && <p class="empty">No tables yet.</p>}
      <ul class="table-list">
        {VIEWS.map(([view, title, icon, show]) => (
          <li key={view}>
            <button
              type="button"
              aria-current={route.value.view === view ? "page" : undefined}
              onClick={() => {
                show();
                focusMain();
              }}
            >
              <Icon name={icon} /> {title}
            </button>
          </li>
        ))}
      </ul>
      <section class="side-azure" aria-labelledby="azure-title">
        <h2 id="azure-title">Azure tables</h2>
        {route.value.account !== undefined ? (
          <AzureSide />
        ) : (
          <button
            type="button"
            class="button"
            onClick={() => {
              showEntities(lastAccount());
              focusMain();
            }}
          >
            <Icon name="table" /> Show an account
          </button>
        )}
      </section>
      <div class="side-lessons">
        <a class="button" href={formatRoute({ lesson: 1, step: 1 })}>
          <Icon name="lesson" /> Lessons
        </a>
      </div>
      {dialog === "create" && <CreateDialog onClose={close} />}
      {dialog === "import" && <ImportDialog onClose={close} />}
    </nav>
  );
}
