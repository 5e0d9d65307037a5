// The table: what was measured, beside what was hoped for.

/** A target that is a figure, a multiple of a peer's, or both. */
const target = (most, times = {}) => ({ most, times });

/**
 * The rows of the table. `most` is the figure to reach; `times` how many times faster than a peer to be; `least` the same,
 * as the least that is acceptable today. Absolute figures belong to the machine that they were set on: the ratios count.
 */
export const ROWS = [
  { workload: "put", what: "put, one after another", unit: "us", target: target(undefined, { idb: 1 / 1.15 }) },
  { workload: "inFlight", what: "put, 10,000 in flight", unit: "us", target: target(5, { idb: 70, sqlite: 13 }), least: { idb: 20 } },
  { workload: "indexed", what: "the same, with an index", unit: "us", target: target(undefined) },
  { workload: "bulk", what: "bulk load, per row", unit: "us", target: target(3, { idb: 15, sqlite: 3 }), least: { idb: 5 } },
  { workload: "get", what: "get by key, one after another", unit: "us", target: target(5), least: { idb: 10 } },
  { workload: "getMany", what: "get, 100 keys a call, per row", unit: "us", target: target(2) },
  { workload: "scan", what: "range scan, per row, as objects", unit: "us", target: target(1.2), least: { idb: 1 } },
  { workload: "open", what: "open a new database, code loaded", unit: "ms", target: target(undefined) },
  { workload: "reopen", what: "reopen and first read", unit: "ms", target: target(10) },
  { workload: "firstOpen", what: "first open, code loaded from localhost", unit: "ms", target: target(60) },
  { workload: "firstRead", what: "new worker, code, open, first read", unit: "ms", target: target(50) },
  { workload: "stored", what: "bytes on disk", unit: "MB", target: target(5) },
];

/** What is measured from a page, against the same in the worker and against a bare message there and back. */
export const PAGE_ROWS = [
  { workload: "put", what: "page: put, one after another", unit: "us" },
  { workload: "inFlight", what: "page: put, 10,000 in flight", unit: "us" },
  { workload: "bulk", what: "page: bulk load, per row", unit: "us" },
  { workload: "get", what: "page: get by key", unit: "us", trips: 2 },
  { workload: "getMany", what: "page: get, 100 keys a call, per row", unit: "us" },
  { workload: "scan", what: "page: range scan, per row", unit: "us" },
].map((row) => ({ ...row, page: true }));

const figure = (value) => (value === undefined ? "-" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
const times = (value) => (value === undefined || !Number.isFinite(value) ? "-" : value >= 10 ? `${value.toFixed(0)}x` : `${value.toFixed(1)}x`);

function wish({ target: wanted, trips, unit }) {
  if (trips !== undefined) return `<= ${trips} bare trips`;
  if (wanted === undefined) return "";
  const parts = wanted.most === undefined ? [] : [`<= ${wanted.most} ${unit}`];
  for (const [peer, factor] of Object.entries(wanted.times)) parts.push(`${factor < 1 ? factor.toFixed(2) : factor}x ${peer}`);
  return parts.join(", ");
}

/** Whether the ratios hold, and, where there are none, the figure. */
function verdict({ target: wanted, least, trips, page }, values) {
  if (page) return trips === undefined || values.trip === undefined ? "" : values.page <= trips * values.trip ? "yes" : "no";
  const mine = values.tabstore;
  if (mine === undefined) return "";
  const holds = (factors) => Object.entries(factors).every(([peer, factor]) => values[peer] === undefined || values[peer] / mine >= factor);
  if (least !== undefined && !holds(least)) return `NO: at least ${Object.entries(least).map(([peer, factor]) => `${factor}x ${peer}`).join(", ")}`;
  const compared = Object.keys(wanted.times).some((peer) => values[peer] !== undefined);
  if (compared ? holds(wanted.times) : wanted.most === undefined || mine <= wanted.most) return wanted.most === undefined && !compared ? "" : "yes";
  return least === undefined ? "no" : "no, but the least";
}

/** The table as text. */
export function table(medians, rows, engines) {
  const peers = engines.filter((name) => name !== "tabstore");
  const head = ["", "unit", "tabstore", ...peers, ...peers.map((peer) => `${peer} / ours`), "target", "reached"];
  const lines = rows
    .filter(({ workload, page }) => Object.keys(medians[workload] ?? {}).some((name) => (page ? name === "page" : engines.includes(name))))
    .map((row) => {
      const values = medians[row.workload];
      const mine = row.page ? values.page : values.tabstore;
      const others = peers.map((peer) => (row.page ? undefined : values[peer]));
      const what = row.trips === undefined || values.trip === undefined ? row.what : `${row.what} (a bare trip: ${figure(values.trip)})`;
      return [
        what, row.unit, figure(mine), ...others.map(figure), ...others.map((value) => times(value === undefined ? undefined : value / mine)),
        wish(row), verdict(row, values),
      ];
    });
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
  const numbers = 2 + 2 * peers.length;
  const text = (line) => line.map((cell, column) => (column > 1 && column <= numbers ? cell.padStart(widths[column]) : cell.padEnd(widths[column]))).join("  ").trimEnd();
  return [text(head), widths.map((width) => "-".repeat(width)).join("  "), ...lines.map(text)].join("\n");
}
