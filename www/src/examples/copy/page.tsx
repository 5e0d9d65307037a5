/** The page of the copy: a table, its copy in plain IndexedDB, and the copying, which can be stopped. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Database } from "tabstore";
import { useRows } from "tabstore/react";

import { type Copied, type Copy, copyTable, openCopy } from "../../../../examples/copy/copy.ts";
import { count, counted } from "../../lib/format.ts";
import { ErrorNote } from "../../ui/notice.tsx";
import { StreamExample, takeTurn, useFollower, Writings } from "../streams.tsx";
import { deliver, remove, sell, STOCK } from "./samples.ts";

/** The name of the copy's database, of the lock of who copies, and of the channel on which that one tells of its steps. */
const NAME = "example-copy";
const { tableName } = STOCK;

/** A row, to be shown. */
interface Shown {
  readonly item: string;
  readonly amount: string;
  readonly place: string;
}

const shown = (row: Readonly<Record<string, unknown>>): Shown => ({ item: String(row.item), amount: String(row.amount ?? ""), place: String(row.place ?? "") });
const same = (a: Shown | undefined, b: Shown | undefined): boolean => a?.amount === b?.amount && a?.place === b?.place;

function Rows({
  title,
  where,
  rows,
  others,
}: {
  readonly title: string;
  readonly where: string;
  readonly rows: readonly Shown[] | undefined;
  readonly others: readonly Shown[];
}) {
  const other = new Map(others.map((row) => [row.item, row]));
  return (
    <section class="card pair-part" aria-label={title}>
      <div class="row">
        <h2>{title}</h2>
        <span class="tag">{where}</span>
        <span class="faint push">{rows === undefined ? "…" : counted(rows.length, "row")}</span>
      </div>
      {rows?.length === 0 ? (
        <p class="empty in-grid">No rows yet. Put some, here or in another tab.</p>
      ) : (
        <div class="grid-scroll" tabIndex={0} role="group" aria-label={`Rows of ${title}`}>
          <table class="grid">
            <thead>
              <tr>
                <th class="key" scope="col">
                  item
                </th>
                <th scope="col" class="right">
                  amount
                </th>
                <th scope="col">place</th>
              </tr>
            </thead>
            <tbody>
              {rows?.map((row) => (
                <tr key={row.item} class={same(row, other.get(row.item)) ? "" : "differs"}>
                  <td class="key">{row.item}</td>
                  <td class="right value integer">{row.amount}</td>
                  <td>{row.place}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** The copying of this tab, and the rows of the copy. */
function useCopying(db: Database, copy: Copy, on: boolean) {
  const [rows, setRows] = useState<readonly Shown[]>();
  const [turn, setTurn] = useState(false);
  const [done, setDone] = useState<Copied>({ put: 0, deleted: 0 });
  const channel = useRef<BroadcastChannel | undefined>(undefined);
  const read = () =>
    void copy.getAll("rows").then(
      (all) => setRows(all.map(shown)),
      () => {},
    );
  useEffect(() => {
    const others = new BroadcastChannel(NAME);
    others.onmessage = read;
    channel.current = others;
    read();
    return () => others.close();
  }, [copy]);
  const start = async function* (signal: AbortSignal) {
    const release = await takeTurn(NAME, signal);
    setTurn(true);
    try {
      yield* copyTable(db, tableName, copy, signal);
    } finally {
      setTurn(false);
      release();
    }
  };
  const error = useFollower(on, start, ({ put, deleted }) => {
    setDone((before) => ({ put: before.put + put, deleted: before.deleted + deleted }));
    read();
    channel.current?.postMessage("step");
  });
  return { rows, turn, done, error };
}

function Copying({ db, copy }: { readonly db: Database; readonly copy: Copy }) {
  const { rows: live, error: broken } = useRows(db, { tableName });
  const [on, setOn] = useState(true);
  const { rows, turn, done, error } = useCopying(db, copy, on);
  const there = live?.map((row) => shown(row.toObject()));
  const items = new Set([...(there ?? []), ...(rows ?? [])].map(({ item }) => item));
  const at = (all: readonly Shown[] | undefined, item: string) => all?.find((row) => row.item === item);
  const differ = [...items].filter((item) => !same(at(there, item), at(rows, item))).length;
  const state = !on ? "Stopped: changes wait in the stream." : turn ? "Copying." : "Another tab copies.";
  const latest = useRef(live);
  latest.current = live;
  const all = () => latest.current ?? [];
  const any = async () => {
    const kind = Math.random();
    if (kind < 0.4 || all().length < 4) await deliver(db, 1);
    else if (kind < 0.85) await sell(db, all());
    else await remove(db, all());
  };
  const empty = all().length === 0;
  return (
    <div class="stack">
      <Writings
        any={any}
        writings={[
          { label: "Put 5 rows", run: () => deliver(db) },
          { label: "Update a row", run: async () => sell(db, all()), disabled: empty },
          { label: "Delete a row", run: async () => remove(db, all()), disabled: empty },
        ]}
      />
      <div class="example-state">
        <button type="button" class="button primary" onClick={() => setOn(!on)}>
          {on ? "Stop copying" : "Go on copying"}
        </button>
        <span role="status">
          {state}{" "}
          {differ === 0 ? (
            <span class="tag good">The copy is equal</span>
          ) : (
            <span class="tag caution">
              {counted(differ, "row")} {differ === 1 ? "differs" : "differ"}
            </span>
          )}
        </span>
        <span class="faint push">
          This tab copied {count(done.put)} and deleted {count(done.deleted)} since it was loaded.
        </span>
      </div>
      <ErrorNote error={error ?? broken} />
      <div class="pair">
        <Rows title="The table" where="TabStore" rows={there} others={rows ?? []} />
        <Rows title="The copy" where="IndexedDB" rows={rows} others={there ?? []} />
      </div>
    </div>
  );
}

function WithCopy({ db }: { readonly db: Database }) {
  const [state, setState] = useState<{ readonly copy?: Copy; readonly error?: unknown }>({});
  useEffect(() => {
    let gone = false;
    const opening = openCopy(NAME);
    opening.then(
      (copy) => gone || setState({ copy }),
      (error: unknown) => gone || setState({ error }),
    );
    return () => {
      gone = true;
      opening.then(
        (copy) => copy.close(),
        () => {},
      );
    };
  }, []);
  if (state.error !== undefined) return <ErrorNote error={state.error} />;
  return state.copy === undefined ? null : <Copying db={db} copy={state.copy} />;
}

/** The page. */
export const CopyPage = () => <StreamExample tables={[STOCK]}>{(db) => <WithCopy db={db} />}</StreamExample>;
