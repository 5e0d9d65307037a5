/** Units and calls of the open instance, live: in place of a table's rows. */

import { useSignalEffect } from "@preact/signals";

import { showTable, showUnits } from "../state/route.ts";
import { Select } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { Bill } from "./bill.tsx";
import { Calls } from "./calls.tsx";
import { failure, seconds, shownTable, tableHours, watchUnits } from "./readings.ts";
import { Resources } from "./resources.tsx";
import { HourCharts, SecondCharts } from "./units.tsx";

const ALL = "";

function TableChoice() {
  const names = tableHours.value.map(({ tableName }) => tableName);
  const shown = shownTable.value ?? ALL;
  const offered = shown === ALL || names.includes(shown) ? names : [...names, shown];
  return (
    <Select
      label="Table whose units are shown"
      value={shown}
      options={[[ALL, "All tables"] as const, ...offered]}
      onChange={(table) => showUnits(table === ALL ? undefined : table)}
    />
  );
}

/** The view. */
export function UnitsView() {
  useSignalEffect(watchUnits);
  const table = shownTable.value;
  return (
    <>
      <header class="table-head">
        <h1 id="title">Units and calls</h1>
        <div class="row push">
          <span class="chart-choice">
            <TableChoice />
          </span>
          {table !== undefined && (
            <button type="button" class="button" onClick={() => showTable(table)}>
              Rows of {table}
            </button>
          )}
        </div>
      </header>
      <ErrorNote error={failure.value} />
      <section class="monitor-part" aria-labelledby="units-title">
        <h2 id="units-title">Capacity units of {table ?? "all tables"}</h2>
        <p class="hint">
          A unit is up to 4 KB that is read or written. The dashed line is what is reserved. What a second uses above it is on-demand: it has another shade, and
          nothing is refused for it.
        </p>
        {seconds.value !== undefined && <SecondCharts />}
      </section>
      <Calls />
      <Bill>
        <HourCharts />
      </Bill>
      <Resources />
    </>
  );
}
