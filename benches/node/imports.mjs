// Imports of files beside Papa Parse with the SQLite of Node, in memory: `npm run imports -- [options]`.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

import Papa from "papaparse";

import { exposeGc } from "../browser/lib/collect.mjs";
import { checkBuilt } from "../browser/lib/server.mjs";
import { columns, Figures, figure, markdown } from "../browser/lib/statistics.mjs";
import { options } from "./lib/setup.mjs";

const HELP = `
npm run imports -- [options]

Reads the same rows from CSV, NDJSON and JSON into a table in memory, in turn:
  --rows N         rows of each file (100000)
  --rounds N       rounds; the table shows medians (5)
  --dist DIR       measure this build of the package (pkg/dist)
  --beside DIR     and this one, in the same rounds
  --out DIR        where the table goes (target/bench)
`;

const CITIES = ["Oslo", "Bergen, Vestland", 'the "Hague"', "São Paulo", "東京", "Reykjavík"];
const CHUNK_BYTES = 64 << 10;

/** Rows as of a table of orders: a text that needs quotes in CSV now and then, numbers of both kinds, a truth value. */
function rowsOf(count) {
  return Array.from({ length: count }, (_, id) => ({
    id,
    name: `customer ${(id * 7919) % 9973}`,
    city: CITIES[id % CITIES.length],
    amount: ((id * 31) % 100_000) / 100 + 0.005,
    paid: id % 3 === 0,
    note: id % 50 === 0 ? `two\nlines of ${id}` : `a line of text about the order ${id}`,
  }));
}

const csvField = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

function filesOf(rows) {
  const names = Object.keys(rows[0]);
  return {
    csv: `${[names.join(), ...rows.map((row) => names.map((name) => csvField(row[name])).join())].join("\n")}\n`,
    ndjson: `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`,
    json: JSON.stringify(rows),
  };
}

/** A file as it comes from a disk or the network. */
function streamOf(bytes) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, (at += CHUNK_BYTES)));
    },
  });
}

/** TabStore in a build: takes a file, and gives how many rows the table has then. */
async function tabstore(dist) {
  const { open } = await import(pathToFileURL(path.join(dist, "node.js")).href);
  let number = 0;
  return async (format, bytes) => {
    const db = await open(`imports-${(number += 1)}`, { storage: "memory" });
    await db.createTable({ tableName: "orders", primaryKey: [{ name: "id", type: "INTEGER" }] });
    const started = performance.now();
    const { rows } = await db.importRows("orders", streamOf(bytes), { format });
    const ms = performance.now() - started;
    await db.close();
    return { ms, rows };
  };
}

/** What reads the file otherwise, and rows of one transaction in SQLite. */
async function sqlite(format, bytes) {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, city TEXT, amount REAL, paid INTEGER, note TEXT) WITHOUT ROWID");
  const started = performance.now();
  const text = await new Response(streamOf(bytes)).text();
  let rows;
  if (format === "csv") rows = Papa.parse(text, { header: true, dynamicTyping: true, skipEmptyLines: true }).data;
  else if (format === "json") rows = JSON.parse(text);
  else rows = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const insert = database.prepare("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)");
  database.exec("BEGIN");
  for (const { id, name, city, amount, paid, note } of rows) insert.run(id, name, city, amount, Number(paid), note);
  database.exec("COMMIT");
  const ms = performance.now() - started;
  database.close();
  return { ms, rows: rows.length };
}

const wanted = options(HELP, { rows: 100_000, rounds: 5 }, [], ["beside"]);
const builds = [wanted.dist, ...(wanted.beside === undefined ? [] : [path.resolve(wanted.beside)])];
builds.forEach(checkBuilt);
mkdirSync(wanted.out, { recursive: true });
exposeGc();
const engines = new Map();
for (const [at, dist] of builds.entries()) engines.set(at === 0 ? "TabStore" : "beside", await tabstore(dist));
engines.set("SQLite", sqlite);
const files = Object.entries(filesOf(rowsOf(wanted.rows))).map(([format, text]) => [format, new TextEncoder().encode(text)]);
const figures = new Figures();
// The first round only warms up.
for (let round = 0; round <= wanted.rounds; round++) {
  const turn = [...engines];
  if (round % 2 === 1) turn.reverse();
  for (const [format, bytes] of files) {
    for (const [name, take] of turn) {
      const { ms, rows } = await take(format, bytes);
      if (rows !== wanted.rows) throw new Error(`${name} has stored ${rows} of ${wanted.rows} rows of ${format}`);
      if (round > 0) figures.add(format, name, (ms * 1000) / rows);
      globalThis.gc();
    }
  }
}
const medians = figures.medians();
const head = ["us a row", ...engines.keys()];
const lines = files.map(([format]) => [format, ...[...engines.keys()].map((name) => figure(medians[format][name]))]);
const about = `Node ${process.versions.node}; ${wanted.rows.toLocaleString("en")} rows of six columns, ${files.map(([format, { length }]) => `${format} ${(length / 1e6).toFixed(1)} MB`).join(", ")}; medians of ${wanted.rounds} rounds.`;
console.log(columns(head, lines));
writeFileSync(path.join(wanted.out, "imports.md"), `${markdown(head, lines)}\n\n${about}\n`);
console.log(about);
