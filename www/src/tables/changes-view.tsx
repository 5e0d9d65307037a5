/** The changes of a table, as its stream has recorded them: the newest first, and new ones as they come. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Change, PrimaryKey, TableDescription, Value } from "tabstore";

import { RowDialog } from "../browse/row-dialog.tsx";
import { ValueText } from "../browse/value.tsx";
import { type ChangeLine, changeLines } from "../lib/change-lines.ts";
import { count, counted, instant } from "../lib/format.ts";
import { keyText } from "../lib/keys.ts";
import { showView } from "../state/route.ts";
import { database } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { Check, Select } from "../ui/field.tsx";
import { Headings } from "../ui/headings.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { useSome } from "../ui/some.tsx";

/** Records that are kept here. */
const MOST_KEPT = 1000;
/** How many are shown at first. */
const MOST_SHOWN = 100;

/** The records so far. */
interface Read {
  /** The newest first. */
  readonly kept: readonly Change[];
  readonly seen: number;
}

/** Reads the changes of a table from a place on. */
function useChanges(tableName: string, streamId: string | undefined, from: "oldest" | "latest", on: boolean): Read & { readonly error: unknown } {
  const [read, setRead] = useState<Read>({ kept: [], seen: 0 });
  const [error, setError] = useState<unknown>();
  /** The record that was read last: who follows again goes on behind it. */
  const last = useRef<Change | undefined>(undefined);
  useEffect(() => {
    setRead({ kept: [], seen: 0 });
    last.current = undefined;
    setError(undefined);
  }, [tableName, streamId, from]);
  useEffect(() => {
    if (!on || streamId === undefined) return;
    const control = new AbortController();
    const waiting: Change[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A stream may give thousands of records at once: they are shown together.
    const show = () => {
      timer = undefined;
      const came = waiting.splice(0);
      setRead(({ kept, seen }) => ({ kept: [...came.reverse(), ...kept].slice(0, MOST_KEPT), seen: seen + came.length }));
    };
    const run = async () => {
      for await (const change of database().changes({ tableName, from: last.current?.token ?? from, signal: control.signal })) {
        waiting.push(change);
        last.current = change;
        timer ??= setTimeout(show, 50);
      }
    };
    run().catch((reason: unknown) => control.signal.aborted || setError(reason));
    return () => {
      control.abort();
      clearTimeout(timer);
      if (waiting.length > 0) show();
    };
  }, [tableName, streamId, from, on]);
  return { ...read, error };
}

function Side({ value, none }: { readonly value: Value | undefined; readonly none: string }) {
  return value === undefined ? <span class="none">{none}</span> : <ValueText value={value} most={200} />;
}

function Line({ line, known }: { readonly line: ChangeLine; readonly known: boolean }) {
  const gone = line.op === "DELETE_ALL" ? "no column" : `version ${line.version} deleted`;
  return (
    <li>
      <b>{line.name}</b> <Side value={line.before} none={known ? "none" : "not recorded"} /> <span aria-label="becomes">→</span>{" "}
      <Side value={line.after} none={gone} />
    </li>
  );
}

const KINDS = { PUT: "good", UPDATE: "", DELETE: "caution" } as const;

function Record({ change, table, onOpen }: { readonly change: Change; readonly table: TableDescription; readonly onOpen: (key: PrimaryKey) => void }) {
  const lines = changeLines(change);
  return (
    <tr>
      <td class="version">
        <code>{instant(change.timestamp)}</code>
      </td>
      <td>
        <span class={`tag ${KINDS[change.type]}`}>{change.type}</span>
      </td>
      <td class="key">
        <button type="button" class="open-row" onClick={() => onOpen(change.primaryKey)}>
          {keyText(change.primaryKey as Record<string, Value>)}
        </button>
      </td>
      <td class="whole">
        <ul>
          {lines.slice(0, 20).map((line, at) => (
            <Line key={at} line={line} known={table.stream?.originColumns.includes(line.name) === true} />
          ))}
          {lines.length > 20 && <li class="hint">and {counted(lines.length - 20, "column")} more</li>}
        </ul>
      </td>
    </tr>
  );
}

/** The view. */
export function ChangesView({ table }: { readonly table: TableDescription }) {
  const [from, setFrom] = useState<"oldest" | "latest">("oldest");
  const [on, setOn] = useState(true);
  const [opened, setOpened] = useState<PrimaryKey>();
  const { kept, seen, error } = useChanges(table.tableName, table.stream?.streamId, from, on);
  const { shown, more } = useSome(kept.length, MOST_SHOWN, "records");
  if (table.stream === null) {
    return (
      <section class="stack" aria-label="Changes of the table">
        <p>No stream records the changes of this table{table.indexOf !== null && ": an index has none"}.</p>
        {table.indexOf === null && (
          <button type="button" class="button fit" onClick={() => showView("schema")}>
            Enable a stream
          </button>
        )}
      </section>
    );
  }
  return (
    <section class="stack" aria-label="Changes of the table">
      <div class="row">
        <Select
          label="From"
          value={from}
          options={[
            ["oldest", "From the oldest record"],
            ["latest", "Only new records"],
          ]}
          onChange={setFrom}
        />
        <Check checked={on} onChange={setOn}>
          Follow
        </Check>
        <span role="status" class="hint">
          {counted(seen, "record")}
          {seen > kept.length && `, of which the newest ${count(kept.length)} are kept here`}
        </span>
      </div>
      <ErrorNote error={error} />
      {kept.length > 0 && (
        <div class="grid-scroll">
          <table class="grid">
            <caption class="visually-hidden">Changes of {table.tableName}, the newest first</caption>
            <Headings titles={["Time (UTC)", "Kind", "Row", "Columns: before → after"]} />
            <tbody>
              {kept.slice(0, shown).map((change) => (
                <Record key={change.token} change={change} table={table} onOpen={setOpened} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more}
      {kept.length === 0 && error === undefined && <p class="empty">No changes yet. What is written to the table comes here.</p>}
      {opened !== undefined && (
        <RowDialog
          table={table}
          primaryKey={opened}
          onClose={() => setOpened(undefined)}
          onChanged={() => {
            rowsChanged.value += 1;
          }}
        />
      )}
    </section>
  );
}
