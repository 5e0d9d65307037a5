/** The calls of all tabs, by operation: how many a second, how long they take, how many fail [I5]. */

import { useMemo, useState } from "preact/hooks";
import type { OperationMetrics, RowOperation } from "tabstore";

import { count } from "../lib/format.ts";
import { askedOperations, busiest, errorsPerSecond, type Sample, track } from "../lib/monitoring.ts";
import { Select } from "../ui/field.tsx";
import { Chart } from "./chart.tsx";
import type { Axis, Line } from "./plot.ts";
import { samples } from "./readings.ts";

const NOTHING = "–";
const AGO: Axis = { tick: (x) => (x === 0 ? "now" : `−${Math.round(-x)} s`), steps: [1, 5, 10, 30, 60], reach: [-120, 0] };
const TIME = { axis: AGO, across: "Time, seconds before now", heading: "Time", place: (x: number) => (x === 0 ? "now" : `${Math.round(-x)} s ago`) };

/** A number of things a second. */
const rate = (value: number) => (value === 0 || value >= 100 ? count(Math.round(value)) : value.toFixed(1));
/** Milliseconds, as exactly as they are measured. */
const milliseconds = (value: number) => `${value >= 100 ? count(Math.round(value)) : value.toFixed(value < 1 ? 3 : 2)} ms`;

type Latency = "meanLatencyMs" | "p50LatencyMs" | "p99LatencyMs";

/** The latencies of an operation that nobody has asked for lately are none. An older page that leads tells no percentiles. */
const latency = (figures: OperationMetrics, of: Latency): number | null => (figures.requestsPerSecond === 0 ? null : (figures[of] ?? null));

function Row({ name, figures }: { readonly name: RowOperation; readonly figures: OperationMetrics }) {
  const timed = (of: Latency) => {
    const value = latency(figures, of);
    return <td class="right">{value === null ? NOTHING : <data value={value}>{milliseconds(value)}</data>}</td>;
  };
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="right">
        <data value={figures.requestsPerSecond}>{rate(figures.requestsPerSecond)}</data>
      </td>
      {timed("meanLatencyMs")}
      {timed("p50LatencyMs")}
      {timed("p99LatencyMs")}
      <td class="right">
        <data value={figures.requests}>{count(figures.requests)}</data>
      </td>
      <td class={`right ${figures.errors > 0 ? "wrong" : ""}`}>
        <data value={figures.errors}>{count(figures.errors)}</data>
      </td>
    </tr>
  );
}

function Operations({ newest, names }: { readonly newest: Sample; readonly names: readonly RowOperation[] }) {
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label="Calls by operation">
      <table class="grid operations">
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col" class="right">
              Requests a second
            </th>
            <th scope="col" class="right">
              Mean
            </th>
            <th scope="col" class="right" title="Half of the requests took no longer">
              p50
            </th>
            <th scope="col" class="right" title="99 of 100 requests took no longer">
              p99
            </th>
            <th scope="col" class="right">
              Requests
            </th>
            <th scope="col" class="right">
              Errors
            </th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <Row key={name} name={name} figures={newest.operations[name]} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function lineOf(newest: Sample, name: RowOperation, values: Line["values"]): Line {
  return { label: name, ink: Object.keys(newest.operations).indexOf(name), values, look: "line" };
}

function Rates({ all, newest, names }: { readonly all: readonly Sample[]; readonly newest: Sample; readonly names: readonly RowOperation[] }) {
  const drawn = useMemo(() => {
    const tracks = names.map((name) => track(all, ({ operations }) => operations[name].requestsPerSecond));
    return { x: tracks[0]?.x ?? [], lines: names.map((name, i) => lineOf(newest, name, tracks[i]?.values ?? [])) };
  }, [all]);
  return <Chart title="Requests" unit="requests a second, the mean of five seconds" format={rate} {...TIME} {...drawn} />;
}

const LATENCIES = [
  ["meanLatencyMs", "Mean", 0],
  ["p50LatencyMs", "p50", 3],
  ["p99LatencyMs", "p99", 2],
] as const;

function Latencies({ all, newest, names }: { readonly all: readonly Sample[]; readonly newest: Sample; readonly names: readonly RowOperation[] }) {
  const [chosen, setChosen] = useState<RowOperation>();
  const name = chosen !== undefined && names.includes(chosen) ? chosen : (busiest(newest.operations) ?? "GetRow");
  const drawn = useMemo(() => {
    const tracks = LATENCIES.map(([of]) => track(all, ({ operations }) => latency(operations[name], of)));
    return {
      x: tracks[0]?.x ?? [],
      lines: LATENCIES.map(([, label, ink], i): Line => ({ label, ink, values: tracks[i]?.values ?? [], look: "line" })),
    };
  }, [all, name]);
  return (
    <Chart title={`Latency of ${name}`} unit="milliseconds in the engine, the last five seconds" format={milliseconds} {...TIME} {...drawn}>
      <span class="push chart-choice">
        <Select label="Operation whose latency is shown" value={name} options={names} onChange={setChosen} />
      </span>
    </Chart>
  );
}

function Errors({ all, newest, names }: { readonly all: readonly Sample[]; readonly newest: Sample; readonly names: readonly RowOperation[] }) {
  const failed = names.filter((name) => newest.operations[name].errors > 0);
  const drawn = useMemo(() => {
    const tracks = failed.map((name) => track(all, (sample, before) => errorsPerSecond(name, sample, before)));
    return { x: tracks[0]?.x ?? [], lines: failed.map((name, i) => lineOf(newest, name, tracks[i]?.values ?? [])) };
  }, [all]);
  if (failed.length === 0) {
    return (
      <div class="figure">
        <h3>Errors</h3>
        <p class="empty">No request has been refused or has failed since the instance was opened.</p>
      </div>
    );
  }
  return <Chart title="Errors" unit="refused and failed requests a second" format={rate} {...TIME} {...drawn} />;
}

/** The part of the page. */
export function Calls() {
  const all = samples.value;
  const newest = all.at(-1);
  if (newest === undefined) return null;
  const names = askedOperations(newest.operations);
  return (
    <section class="monitor-part" aria-labelledby="calls-title">
      <h2 id="calls-title">Calls of all tabs</h2>
      <p class="hint">
        Requests on rows, of all tables. Rates and latencies are those of the last five seconds; a percentile is at most 3.1 % away from the exact one. Requests
        and errors are counted since the instance was opened.
      </p>
      {names.length === 0 ? (
        <p class="empty">No row has been asked for since the instance was opened.</p>
      ) : (
        <>
          <Operations newest={newest} names={names} />
          <div class="charts">
            <Rates all={all} newest={newest} names={names} />
            <Latencies all={all} newest={newest} names={names} />
            <Errors all={all} newest={newest} names={names} />
          </div>
        </>
      )}
    </section>
  );
}
