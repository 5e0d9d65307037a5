/** The rows of a table, a page at a time, and the actions on them. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PrimaryKey, RangeKey, TableDescription } from "tabstore";

import { counted } from "../lib/format.ts";
import { keyOf, keyText, parseEnd } from "../lib/keys.ts";
import { logged } from "../state/calls.ts";
import { navigate, route } from "../state/route.ts";
import { database } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { Select } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { PageButton } from "../ui/page-button.tsx";
import { Grid } from "./grid.tsx";
import { type Page, pageBefore, pageFrom, PageTurns, type Turn, type View } from "./paging.ts";
import { PutDialog } from "./put-dialog.tsx";
import { RangeBar } from "./range-bar.tsx";
import { RowDialog } from "./row-dialog.tsx";

const PAGE_SIZES = ["25", "50", "100", "500"] as const;

/** The range that the address names, or the error in it. */
function useView(table: TableDescription, limit: number): { readonly view: View | undefined; readonly wrong: unknown } {
  const { order = "FORWARD", start = [], end = [] } = route.value;
  const { tableName, primaryKey: schema } = table;
  // A table that was described again is the same table.
  const said = JSON.stringify([tableName, schema, order, start, end]);
  return useMemo(() => {
    try {
      const view = { tableName, schema, direction: order, limit, start: parseEnd(schema, start, "start", order), end: parseEnd(schema, end, "end", order) };
      return { view, wrong: undefined };
    } catch (wrong) {
      return { view: undefined, wrong };
    }
  }, [limit, said]);
}

/** The text at the foot: our place in the table. */
function place(page: Page): string {
  const [first] = page.rows;
  const last = page.rows.at(-1);
  if (first === undefined || last === undefined) return "No rows here";
  const keys = first === last ? keyText(first.primaryKey) : `${keyText(first.primaryKey)} … ${keyText(last.primaryKey)}`;
  return `${counted(page.rows.length, "row")}: ${keys}`;
}

/** The browser. */
export function Browser({ table }: { readonly table: TableDescription }) {
  const [size, setSize] = useState<(typeof PAGE_SIZES)[number]>("50");
  const { view, wrong } = useView(table, Number(size));
  const [page, setPage] = useState<Page>();
  const [failure, setFailure] = useState<unknown>();
  const [opened, setOpened] = useState<PrimaryKey>();
  const [putting, setPutting] = useState(false);
  const [turns] = useState(
    () =>
      new PageTurns((got, error) => {
        setPage(got);
        setFailure(error);
      }),
  );
  const read = (turn: Turn) => {
    if (view !== undefined) turns.read(view, turn);
  };
  const range = (request: Parameters<ReturnType<typeof database>["getRange"]>[0]) =>
    logged("GetRange", `${request.tableName}, ${request.direction?.toLowerCase()}, limit ${request.limit}`, () => database().getRange(request));
  const turnFrom =
    (key: RangeKey | undefined): Turn =>
    (shown) =>
      pageFrom(range, shown, key);
  const from = (key: RangeKey | undefined) => read(turnFrom(key));
  const before = (key: RangeKey | undefined) => read((shown) => pageBefore(range, shown, key));
  const again = () => {
    if (view !== undefined) turns.again(view, turnFrom(page?.from));
  };
  const firstKey = page?.rows[0] === undefined ? undefined : keyOf(page.rows[0]);

  useEffect(() => from(undefined), [view]);
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
        onPut={() => setPutting(true)}
      />
      <ErrorNote error={wrong ?? failure} />
      {page !== undefined && wrong === undefined && <Grid key={table.tableName} table={table} rows={page.rows} onOpen={(row) => setOpened(keyOf(row))} />}
      {page !== undefined && wrong === undefined && (
        <footer class="pager">
          <span role="status" class="pager-place">
            {place(page)}
          </span>
          <div class="row push">
            <label class="row tight">
              Rows a page <Select value={size} options={PAGE_SIZES} onChange={setSize} />
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
