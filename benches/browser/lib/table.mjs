// The table: the measured figures beside the targets.

import { waitsDocument, waitsTable } from "./hand-over.mjs";
import { columns, figure, markdown, times } from "./statistics.mjs";

/** The databases and their names. */
export const ENGINES = {
  tabstore: "TabStore",
  idb: "idb",
  dexie: "Dexie",
  localforage: "localForage",
  sqlite: "SQLite wasm",
  pglite: "PGlite",
};

/** The same with our storage in files beside ours, for measurements of what is not in memory. */
export const COLD = { tabstore: ENGINES.tabstore, files: "TabStore in files", ...ENGINES };

/** Our package from pages: of the tab that has the engine, and of another one. */
export const TABS = { page: "from the page", follower: "from a follower" };

/**
 * The rows of the table. `most` is the target figure; `times` is the wanted factor to a peer; `trips` is the limit from
 * a page, in bare messages there and back, and `more` what a follower may take beyond the page, in its bare messages.
 * Absolute figures belong to the machine that they were set on. The ratios count, and the column "reached" tells both apart.
 */
export const ROWS = [
  { workload: "put", what: "put, one after another", unit: "us", most: 25, times: { sqlite: 2 } },
  { workload: "manyPuts", what: "put, one after another, long enough for flushes", unit: "us" },
  { workload: "inFlight", what: "put, thousands in flight", unit: "us", most: 4 },
  { workload: "bulk", what: "bulk load, per row", unit: "us", most: 2.8 },
  { workload: "get", what: "get by key, one after another, data in memory", unit: "us", most: 4.5, times: { sqlite: 1 }, trips: 2, more: 1 },
  { workload: "lateGet", what: "get by key, when the browser has optimised the code", unit: "us", most: 4.5, times: { sqlite: 1 } },
  { workload: "getMany", what: "get, 100 keys a call, per row", unit: "us", most: 1.6 },
  { workload: "scan", what: "range scan, per row delivered as objects", unit: "us", most: 0.8 },
  { workload: "reopen", what: "reopen and first read, engine loaded", unit: "ms", most: 10 },
  { workload: "reopenPuts", what: "reopen and first read right after puts, engine loaded", unit: "ms", most: 25 },
  { workload: "firstRead", what: "reopen and first read, new worker", unit: "ms", most: 50 },
  { workload: "firstOpen", what: "first open, with download from localhost", unit: "ms", most: 60 },
  { workload: "stored", what: "bytes on disk", unit: "MB", most: 4.5 },
  { workload: "package", what: "package, gzip (js + wasm)", unit: "KB", most: 300 },
  { workload: "scanBeside", what: "range scan, leader and follower at once, per row and reader", unit: "us" },
  { workload: "scanTwo", what: "range scan, two followers at once, per row and reader", unit: "us" },
  { workload: "trip", what: "a bare message to the engine's worker and back", unit: "us" },
  { workload: "indexed", what: "put, thousands in flight, with an index", unit: "us" },
  { workload: "filter", what: "range scan, a filter lets 1 % pass, per row read", unit: "us", most: 0.1, times: { sqlite: 1 } },
  { workload: "column", what: "range scan, 1 of 6 columns, per row", unit: "us", most: 0.5 },
  { workload: "open", what: "open a new database, engine loaded", unit: "ms" },
];

/** Notes on some figures. */
const NOTES = {
  tabstore:
    "TabStore's package is what every page loads. Compaction, dense blocks, filters with regular expressions, sharing among tabs, imports and what is rarer are loaded on first use.",
  localforage:
    "localForage has no bulk call, so bulk load is calls in flight. It cannot be closed, so reopening with the engine loaded only makes a new object on an open connection.",
  sqlite: "SQLite: the OPFS pool of access handles, WAL, `synchronous=normal`.",
  follower:
    "From the page: the engine is in the worker that the page starts. From a follower: another page has that worker. While leaders end, two tabs follow and put one row after another.",
  pglite:
    "PGlite: `idb://`, `relaxedDurability`; it answers before data is stored, so its writes are stored later than those of the others. Bulk load is `COPY`.",
};

const wish = ({ most, times: factors = {}, trips, more, unit }) => {
  const parts = most === undefined ? [] : [`<= ${most} ${unit}`];
  for (const [peer, factor] of Object.entries(factors)) parts.push(`${factor === 1 ? "" : `${factor} x `}faster than ${ENGINES[peer]}`);
  if (trips !== undefined) parts.push(`page: <= ${trips} bare messages`);
  if (more !== undefined) parts.push(`follower: <= ${more} more`);
  return parts.join(", ");
};

/** Whether each part of a target holds. A missing measurement gives no verdict. */
function verdict({ most, times: factors = {}, trips, more }, values, trip = {}) {
  const mine = values.tabstore;
  const parts = [];
  if (most !== undefined && mine !== undefined) parts.push(["the limit", mine <= most]);
  const compared = Object.entries(factors).filter(([peer]) => values[peer] !== undefined && mine !== undefined);
  if (compared.length > 0) parts.push([compared.length > 1 ? "the ratios" : "the ratio", compared.every(([peer, factor]) => values[peer] / mine >= factor)]);
  if (trips !== undefined && values.page !== undefined && trip.page !== undefined) parts.push(["the page", values.page <= trips * trip.page]);
  if (more !== undefined && values.page !== undefined && values.follower !== undefined)
    parts.push(["the follower", values.follower <= values.page + more * trip.follower]);
  const held = parts.filter(([, holds]) => holds).map(([what]) => what);
  if (parts.length === 0) return "";
  return held.length === parts.length ? "yes" : held.length === 0 ? "no" : `in part: ${held.join(", ")}`;
}

/** Our package's other columns, of those that were measured. */
export const tabsOf = (record) => Object.keys(TABS).filter((name) => record[name]);

/** The cells of the table, for the databases that were measured. */
function cells(record) {
  const { medians, engines } = record;
  const tabs = tabsOf(record);
  const peers = engines.filter((name) => name !== "tabstore");
  const head = ["", "unit", ENGINES.tabstore, ...tabs.map((name) => TABS[name]), ...peers.map((name) => ENGINES[name]), "target", "reached"];
  const lines = ROWS.filter(({ workload }) => Object.keys(medians[workload] ?? {}).some((name) => engines.includes(name) || tabs.includes(name))).map((row) => {
    const values = medians[row.workload];
    const beside = (name) =>
      values[name] === undefined
        ? "-"
        : values.tabstore === undefined
          ? figure(values[name])
          : `${figure(values[name])} (${times(values[name] / values.tabstore)})`;
    return [
      row.what,
      row.unit,
      figure(values.tabstore),
      ...tabs.map((name) => figure(values[name])),
      ...peers.map(beside),
      wish(row),
      verdict(row, values, medians.trip),
    ];
  });
  return { head, lines, left: [0, 1, head.length - 2, head.length - 1] };
}

/** The table as text. */
export function table(record) {
  const { head, lines, left } = cells(record);
  return [columns(head, lines, left), ...(record.waits === undefined ? [] : ["", waitsTable(record.waits)])].join("\n");
}

/** The sentence about the way of measuring. */
export function circumstances({ rows, rounds, machine, backend }) {
  return `${rows.toLocaleString("en")} rows of 6 columns, about 150 bytes; medians of ${rounds} rounds. Headless Chromium ${machine.chromium}, IndexedDB on ${backend}, ${machine.cpus} CPUs. All databases run in one dedicated worker, round by round and workload by workload in turn, with pauses between them.`;
}

/** The table as Markdown, with its circumstances and notes. */
export function document(record) {
  const { head, lines, left } = cells(record);
  const peers = record.engines.filter((name) => name !== "tabstore");
  const versions = peers.map((name) => `${ENGINES[name]} ${record.versions[name]}`).join(", ");
  return [
    `${circumstances(record)} In brackets: the multiple of TabStore's figure. us: microseconds an operation. ${record.time.slice(0, 10)}.`,
    markdown(head, lines, left)
      .replaceAll(" us |", " µs |")
      .replaceAll(/<= ([\d.]+) us/g, "<= $1 µs")
      .replaceAll("<= ", "≤ ")
      .replaceAll(/(\d)x\)/g, "$1×)")
      .replaceAll(/(\d) x /g, "$1× "),
    ...(record.waits === undefined ? [] : [waitsDocument(record.waits)]),
    [
      `Versions: ${versions}. Only ratios inside one run mean anything: absolute figures depend on the machine and its load. Of a target that is reached in part, the parts are named that are reached. "-": not measured.`,
      ...["tabstore", ...tabsOf(record), ...peers].map((name) => NOTES[name]).filter(Boolean),
    ].join("\n"),
  ]
    .join("\n\n")
    .replaceAll("us: microseconds", "µs: microseconds");
}
