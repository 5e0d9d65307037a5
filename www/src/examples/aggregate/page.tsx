/** The page of the aggregate: a chart of orders and money by city, which follows the table. */

import { useState } from "preact/hooks";
import type { Database } from "tabstore";

import { aggregate, countAll, type Totals } from "../../../../examples/aggregate/aggregate.ts";
import { count, counted, elapsed } from "../../lib/format.ts";
import { useAction } from "../../ui/action.ts";
import { ErrorNote } from "../../ui/notice.tsx";
import { StreamExample, useFollower, Writings } from "../streams.tsx";
import { Chart } from "./chart.tsx";
import { cancel, move, order, TABLES } from "./samples.ts";

const QUESTION = { tableName: TABLES[0].tableName, group: "city", sum: "cents" };
const KEPT = { tableName: TABLES[1].tableName, primaryKey: { name: "orders by city" } };

const text = (totals: Totals): string => JSON.stringify([...totals].toSorted(([a], [b]) => (a < b ? -1 : 1)));

function Check({ db, totals }: { readonly db: Database; readonly totals: Totals }) {
  const { busy, error, run } = useAction();
  const [found, setFound] = useState<{ readonly fresh: string; readonly of: Totals; readonly rows: number; readonly ms: number }>();
  const check = () =>
    run(async () => {
      const began = performance.now();
      const fresh = (await countAll(db, QUESTION)).totals;
      setFound({ fresh: text(fresh), of: totals, rows: [...fresh.values()].reduce((sum, one) => sum + one.count, 0), ms: performance.now() - began });
    });
  // Of totals that have changed since it says nothing.
  const told = found?.of === totals ? found : undefined;
  return (
    <>
      <button type="button" class="button" aria-disabled={busy} onClick={check}>
        Compare with a fresh count
      </button>
      <span role="status">
        {told !== undefined &&
          (told.fresh === text(totals) ? (
            <span class="tag good">
              The same, of {counted(told.rows, "row")} in {elapsed(told.ms)}
            </span>
          ) : (
            <span class="tag caution">The table has changed meanwhile</span>
          ))}
      </span>
      <ErrorNote error={error} />
    </>
  );
}

function Aggregating({ db }: { readonly db: Database }) {
  const [totals, setTotals] = useState<Totals>();
  const [begun, setBegun] = useState("");
  const start = async function* (signal: AbortSignal) {
    const { row } = await db.getRow(KEPT);
    setBegun(
      row === null ? "It has counted the table once, and follows its changes since." : "It went on from the stored totals, behind the last change in them.",
    );
    yield* aggregate(db, QUESTION, KEPT, signal);
  };
  const error = useFollower(true, start, setTotals);
  const orders = [...(totals?.values() ?? [])].reduce((sum, one) => sum + one.count, 0);
  const any = async () => {
    const kind = Math.random();
    if (kind < 0.5 || orders < 20) await order(db);
    else if (kind < 0.75) await move(db);
    else await cancel(db);
  };
  return (
    <div class="stack">
      <Writings
        any={any}
        writings={[
          { label: "Put 100 orders", run: () => order(db, 100) },
          { label: "Move an order", run: () => move(db), disabled: orders === 0 },
          { label: "Delete an order", run: () => cancel(db), disabled: orders === 0 },
        ]}
      />
      <ErrorNote error={error} />
      {totals !== undefined && (
        <>
          <div class="example-state">
            <Check db={db} totals={totals} />
            <span class="faint push">{begun}</span>
          </div>
          <section class="card" aria-label="Totals by city">
            <div class="row">
              <h2>Orders by city</h2>
              <span class="faint push">{count(orders)} orders</span>
            </div>
            {orders === 0 ? <p class="empty in-grid">No orders yet. Put some, here or in another tab.</p> : <Chart totals={totals} />}
          </section>
        </>
      )}
    </div>
  );
}

/** The page. */
export const AggregatePage = () => <StreamExample tables={TABLES}>{(db) => <Aggregating db={db} />}</StreamExample>;
