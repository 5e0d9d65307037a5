/** The entities of a table, a page at a time, and the actions on them. */

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { asError } from "../lib/ended-call.ts";
import { type Entity, exampleFilters } from "../lib/entities.ts";
import { counted } from "../lib/format.ts";
import { navigate, route } from "../state/route.ts";
import { rowsChanged } from "../state/tables.ts";
import { Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { PageButton } from "../ui/page-button.tsx";
import { type Key, keyText, type Place, readPage } from "./client.ts";
import { EntityGrid } from "./entity-grid.tsx";
import { EntityPanel } from "./entity-panel.tsx";
import { InsertPanel } from "./insert-panel.tsx";
import { QueryBar } from "./query-bar.tsx";
import { EntityTurns, FIRST, type ReadPage, type ShownPage } from "./turns.ts";

const PAGE_SIZES = ["10", "25", "100", "1000"] as const;

/** The text at the foot: our place in the table. */
function place({ entities, starts }: ShownPage): string {
  const [first] = entities;
  const last = entities.at(-1);
  const page = `Page ${starts.length}`;
  if (first === undefined || last === undefined) return `${page}: nothing`;
  return `${page}, ${counted(entities.length, "entity", "entities")}: ${first === last ? keyText(first) : `${keyText(first)} … ${keyText(last)}`}`;
}

/** The browser. */
export function EntityBrowser({ place: where }: { readonly place: Place }) {
  const [size, setSize] = useState<(typeof PAGE_SIZES)[number]>("25");
  const { filter, select } = route.value;
  const [page, setPage] = useState<ShownPage>();
  const [failure, setFailure] = useState<unknown>();
  const [opened, setOpened] = useState<Key>();
  const [inserting, setInserting] = useState(false);
  const [known, setKnown] = useState<readonly string[]>([]);
  const [examples, setExamples] = useState<readonly string[]>([]);
  const learn = (entities: readonly Entity[]) => {
    const names = entities.flatMap(({ properties }) => properties.map(({ name }) => name));
    setKnown((before) => (names.every((name) => before.includes(name)) ? before : [...new Set([...before, ...names])]));
    setExamples((before) => (before.length > 0 ? before : exampleFilters(entities)));
  };
  const [turns] = useState(
    () =>
      new EntityTurns((got, error) => {
        setPage(got);
        setFailure(error);
        if (got !== undefined) learn(got.entities);
      }),
  );
  const read: ReadPage = (from) => readPage(where, { filter, select, pageSize: Number(size) }, from);
  const again = () => turns.again(read, page?.starts ?? FIRST);
  const latest = useRef(again);
  latest.current = again;

  useEffect(() => turns.to(read, FIRST), [where, filter, JSON.stringify(select), size]);
  const changes = useRef(rowsChanged.peek());
  useSignalEffect(() => {
    if (rowsChanged.value === changes.current) return;
    changes.current = rowsChanged.value;
    latest.current();
  });

  // An error of the service that the query can have caused stands beside it.
  const ofFilter = filter !== undefined && failure !== undefined && asError(failure).status === 400;
  const before = page?.starts.slice(0, -1) ?? [];
  return (
    <section class="browser" aria-label={`Entities of ${where.table}`}>
      <QueryBar
        filter={filter}
        select={select}
        known={known}
        examples={examples}
        error={ofFilter ? failure : undefined}
        onQuery={(wanted) => {
          if (wanted === filter) again();
          else navigate({ ...route.value, filter: wanted });
        }}
        onSelect={(wanted) => navigate({ ...route.value, select: wanted })}
      >
        <button type="button" class="button square" aria-label="Read again" title="Read again" onClick={again}>
          <Icon name="refresh" />
        </button>
        <button type="button" class="button primary" onClick={() => setInserting(true)}>
          <Icon name="add" /> Insert entity
        </button>
      </QueryBar>
      {!ofFilter && <ErrorNote error={failure} />}
      {page !== undefined && page.entities.length > 0 && <EntityGrid table={where.table} entities={page.entities} onOpen={setOpened} />}
      {page !== undefined && page.entities.length === 0 && (
        <p class="empty in-grid">
          {page.next !== undefined
            ? "Nothing found so far. The search goes on with the next page."
            : filter !== undefined
              ? "No entity matches this filter."
              : "There are no entities here."}
        </p>
      )}
      {page !== undefined && (
        <footer class="pager">
          <span role="status" class="pager-place">
            {place(page)}
          </span>
          <div class="row push">
            <label class="row tight">
              Entities a page <Select value={size} options={PAGE_SIZES} onChange={setSize} />
            </label>
            <div class="button-group" role="group" aria-label="Pages">
              <PageButton icon="first" label="First page" disabled={before.length === 0} onClick={() => turns.to(read, FIRST)} />
              <PageButton icon="previous" label="Previous page" disabled={before.length === 0} onClick={() => turns.to(read, before)} />
              <PageButton icon="next" label="Next page" disabled={page.next === undefined} onClick={() => turns.to(read, [...page.starts, page.next])} />
            </div>
          </div>
        </footer>
      )}
      {opened !== undefined && <EntityPanel place={where} entityKey={opened} onClose={() => setOpened(undefined)} onChanged={again} />}
      {inserting && (
        <InsertPanel
          place={where}
          onClose={() => setInserting(false)}
          onDone={(key) => {
            setInserting(false);
            again();
            setOpened(key);
          }}
        />
      )}
    </section>
  );
}
