/** The rows of a table, a page at a time, and the actions on them. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GetRangeRequest, PrimaryKey, RangeKey, Row, TableDescription, ValueType } from "tabstore";

import { type Edits, withEdit } from "../lib/edits.ts";
import { counted } from "../lib/format.ts";
import { keyId, keyOf, keyText } from "../lib/keys.ts";
import { marksText } from "../lib/live-marks.ts";
import { PAGE_SIZES } from "../lib/route.ts";
import { typeIn } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { editsOf, keepEdits } from "../state/edits.ts";
import { navigate, route } from "../state/route.ts";
import { database } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { Check, Select } from "../ui/field.tsx";
import { lazily } from "../ui/lazily.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { PageButton } from "../ui/page-button.tsx";
import type { Chosen, ChosenBarProps } from "./delete-chosen.tsx";
import type { DeleteRangeProps } from "./delete-range.tsx";
import type { EditsPanelProps } from "./edits-panel.tsx";
import { Grid } from "./grid.tsx";
import { type KnownColumns, type Page, pageBefore, pageFrom, PageTurns, type Turn } from "./paging.ts";
import type { PutDialogProps } from "./put-dialog.tsx";
import { RangeBar } from "./range-bar.tsx";
import type { RowDialogProps } from "./row-dialog.tsx";
import { isFollowed, useLive } from "./use-live.ts";
import { useView } from "./use-view.ts";
import { ViewBar } from "./view-bar.tsx";

const PutDialog = lazily<PutDialogProps>(async () => (await import("./put-dialog.tsx")).PutDialog);
const RowDialog = lazily<RowDialogProps>(async () => (await import("./row-dialog.tsx")).RowDialog);
const EditsPanel = lazily<EditsPanelProps>(async () => (await import("./edits-panel.tsx")).EditsPanel);
const ChosenBar = lazily<ChosenBarProps>(async () => (await import("./delete-chosen.tsx")).ChosenBar);
const DeleteRange = lazily<DeleteRangeProps>(async () => (await import("./delete-range.tsx")).DeleteRangeDialog);

const NONE: Chosen = new Map();

/** The attribute columns of rows, with the type of each one's first value. */
function columnTypes(rows: readonly Row[]): KnownColumns {
  const types = new Map<string, ValueType>();
  for (const row of rows) {
    for (const name of row.columnNames) {
      if (!types.has(name)) types.set(name, typeIn(row, name) ?? "STRING");
    }
  }
  return types;
}

/** The text at the foot: our place in the table. */
function place(page: Page): string {
  const [first] = page.rows;
  const last = page.rows.at(-1);
  const cost = `, ${counted(page.consumed.read, "read unit")}`;
  if (first === undefined || last === undefined) return `No rows here${cost}`;
  const keys = first === last ? keyText(first.primaryKey) : `${keyText(first.primaryKey)} … ${keyText(last.primaryKey)}`;
  return `${counted(page.rows.length, "row")}: ${keys}${cost}`;
}

/** Whether a page is the one that was followed: another one may have come in between. */
function isSamePlace(followed: Page, shown: Page | undefined): boolean {
  return shown?.view === followed.view && shown.from === followed.from && shown.next === followed.next;
}

/** The browser. */
export function Browser({ table }: { readonly table: TableDescription }) {
  const { view, conditions, wrong } = useView(table);
  const [page, setPage] = useState<Page>();
  const [failure, setFailure] = useState<unknown>();
  /** Units of a search that goes on. */
  const [searched, setSearched] = useState(0);
  const [opened, setOpened] = useState<PrimaryKey>();
  const [chosen, setChosen] = useState<Chosen>(NONE);
  const [deletesRange, setDeletesRange] = useState(false);
  const [live, setLive] = useState(true);
  const [putting, setPutting] = useState(false);
  const [turns] = useState(
    () =>
      new PageTurns((got, error) => {
        setPage(got);
        setFailure(error);
        setSearched(0);
      }),
  );
  const read = (turn: Turn) => {
    if (view !== undefined) turns.read(view, turn);
  };
  const range = (signal: AbortSignal) => async (request: GetRangeRequest) => {
    const subject = `${request.tableName}, ${request.direction?.toLowerCase()}, limit ${request.limit}`;
    const got = await logged("GetRange", subject, () => database().getRange(request));
    if (request.filter !== undefined && got.nextStartPrimaryKey !== null && !signal.aborted) setSearched((units) => units + got.consumed.read);
    return got;
  };
  const turnFrom =
    (key: RangeKey | undefined): Turn =>
    (shown, signal) =>
      pageFrom(range(signal), shown, key, signal);
  const from = (key: RangeKey | undefined) => read(turnFrom(key));
  const before = (key: RangeKey | undefined) => read((shown, signal) => pageBefore(range(signal), shown, key, signal));
  const again = () => {
    if (view !== undefined) turns.again(view, turnFrom(page?.from));
  };
  const edits = editsOf(table.tableName);
  const keep = (next: Edits) => keepEdits(table.tableName, next);
  const choose = (rows: readonly Row[], on: boolean) => {
    const next = new Map(chosen);
    for (const row of rows) {
      const id = keyId(table.primaryKey, row.primaryKey);
      if (on) next.set(id, row);
      else next.delete(id);
    }
    setChosen(next);
  };
  const isEditable = table.allowUpdate && table.indexOf === null;
  const firstKey = page?.rows[0] === undefined ? undefined : keyOf(page.rows[0]);

  const marks = useLive(view, page, live, (of, rows) => setPage((shown) => (isSamePlace(of, shown) ? { ...of, rows } : shown)));
  const known = useMemo(() => columnTypes(page?.rows ?? []), [page]);

  useEffect(() => {
    from(undefined);
    return () => {
      turns.stop();
      setSearched(0);
      setChosen(NONE);
    };
  }, [view]);
  const changes = useRef(rowsChanged.peek());
  useSignalEffect(() => {
    if (rowsChanged.value === changes.current) return;
    changes.current = rowsChanged.value;
    again();
  });

  return (
    <section class="browser" aria-label={`Rows of ${table.tableName}`}>
      <RangeBar
        table={table}
        onApply={(order, start, end) => navigate({ ...route.value, order, start, end })}
        onRefresh={again}
        onPut={table.indexOf === null ? () => setPutting(true) : undefined}
      />
      <ViewBar table={table} view={view} known={known} conditions={conditions} onDelete={table.indexOf === null ? () => setDeletesRange(true) : undefined} />
      {searched > 0 && (
        <p class="row hint">
          <span role="status">Looking for rows that match: {counted(searched, "read unit")} so far.</span>
          <button
            type="button"
            class="button small"
            onClick={() => {
              turns.stop();
              setSearched(0);
            }}
          >
            Stop
          </button>
        </p>
      )}
      <ErrorNote error={wrong ?? failure} />
      {page !== undefined && wrong === undefined && (
        <Grid
          key={table.tableName}
          table={table}
          rows={page.rows}
          chosen={route.value.columns}
          edits={edits}
          marks={marks.columns}
          chosenRows={chosen}
          onChoose={table.indexOf === null ? choose : undefined}
          onOpen={(row) => setOpened(keyOf(row))}
          onEdit={isEditable ? (row, column, edit) => keep(withEdit(edits, keyId(table.primaryKey, row.primaryKey), row, column, edit)) : undefined}
        />
      )}
      {chosen.size > 0 && <ChosenBar table={table} chosen={chosen} onChange={setChosen} onDeleted={again} />}
      {edits.size > 0 && <EditsPanel table={table} edits={edits} onChange={keep} onSaved={again} />}
      {page !== undefined && wrong === undefined && (
        <footer class="pager">
          <span role="status" class="pager-place">
            {place(page)}
          </span>
          <span role="status">{marksText(marks)}</span>
          <div class="row push">
            <Check checked={live && isFollowed(page)} disabled={!isFollowed(page)} onChange={setLive}>
              Live
            </Check>
            <label class="row tight">
              Rows a page <Select value={route.value.rows ?? "50"} options={PAGE_SIZES} onChange={(rows) => navigate({ ...route.value, rows }, true)} />
            </label>
            <div class="button-group" role="group" aria-label="Pages">
              <PageButton icon="first" label="First page" disabled={!page.before} onClick={() => from(undefined)} />
              <PageButton
                icon="previous"
                label="Previous page"
                disabled={!page.before}
                onClick={() => (firstKey === undefined ? from(undefined) : before(firstKey))}
              />
              <PageButton icon="next" label="Next page" disabled={page.next === undefined} onClick={() => from(page.next)} />
              <PageButton icon="last" label="Last page" disabled={page.next === undefined} onClick={() => before(undefined)} />
            </div>
          </div>
        </footer>
      )}
      {opened !== undefined && <RowDialog table={table} primaryKey={opened} onClose={() => setOpened(undefined)} onChanged={again} />}
      {deletesRange && view !== undefined && (
        <DeleteRange
          table={table}
          view={view}
          onClose={() => setDeletesRange(false)}
          onDeleted={() => {
            setChosen(NONE);
            from(undefined);
          }}
        />
      )}
      {putting && (
        <PutDialog
          table={table}
          onClose={() => setPutting(false)}
          onDone={(key) => {
            setPutting(false);
            again();
            setOpened(key);
          }}
        />
      )}
    </section>
  );
}
