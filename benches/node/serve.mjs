// The server's throughput: `npm run serve -- [options]`. Requests are those of the npm package tablestore, made before the clock
// starts and sent again and again, so that the client takes little of the time. Figures of one run are comparable, others are not.

import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { startServer } from "./lib/served.mjs";
import { measureCalls, measureRequests } from "./lib/throughput.mjs";

const HELP = `
npm run serve -- [options]

Measures npx tabstore serve over HTTP, with one request at a time and with many in flight: puts, gets, batches of 200 puts, ranges of
5,000 rows. Rows have 6 columns, about 150 bytes. Says what part of the time the engine takes, what the codec of the protocol (with
the signature) takes more, and what the rest is: HTTP and its client. Both are measured in this process, with the same requests. There a
large answer is copied once more than in the server, so that its rest can be less than nothing.
  --seconds N   seconds for each line (2)
  --memory      the instance in memory, instead of files
  --dist DIR    measure this build of the package (pkg/dist)
`;

const root = fileURLToPath(new URL("../..", import.meta.url));
const string = { type: "string" };
const flag = { type: "boolean", default: false };
const { values } = parseArgs({ options: { seconds: string, dist: string, memory: flag, help: flag } });
if (values.help) {
  console.log(HELP.trim());
  process.exit(0);
}
const seconds = Number(values.seconds ?? 2);
if (!(seconds > 0)) throw new Error(`--seconds is ${values.seconds}; it must be a number above 0`);
const dist = path.resolve(values.dist ?? path.join(root, "pkg/dist"));
const TableStore = createRequire(path.join(root, "pkg/package.json"))("tablestore");
/** Rows of a range, and rows that are there. */
const RANGE = 5000;
const IN_FLIGHT = 64;
/** The server's own. */
const KEY = { accessKeyId: "testid", secretAccessKey: "testsecret" };

const int = (value) => TableStore.Long.fromNumber(value);
const keyOf = (id) => [{ station: "SEA" }, { id: int(id) }];
const attributesOf = (id) => [
  { date: "2012-01-01" },
  { weather: `rain ${id}` },
  { tempMax: 12.8 },
  { tempMin: 5.5 },
  { count: int(id) },
  { note: "x".repeat(60) },
];
const condition = new TableStore.Condition(TableStore.RowExistenceExpectation.IGNORE, null);
const rowOf = (id) => ({ condition, primaryKey: keyOf(id), attributeColumns: attributesOf(id) });

/** The requests that calls would send. They are signed; the service takes them for a quarter of an hour. */
async function requestsOf(calls, address) {
  const requests = [];
  const before = TableStore.HttpClient.prototype.handleRequest;
  TableStore.HttpClient.prototype.handleRequest = (request, _options, callback, failed) => {
    requests.push({ path: request.path, headers: { ...request.headers }, body: Buffer.from(request.body) });
    const stream = { on: () => stream };
    callback(stream);
    failed(new Error("it is not sent"));
    return stream;
  };
  const client = new TableStore.Client({ endpoint: address, instancename: "demo", ...KEY, maxRetries: 0 });
  for (const [operation, params] of calls) await client[operation](params).catch(() => {});
  TableStore.HttpClient.prototype.handleRequest = before;
  return requests;
}

/**
 * The same instance in this process: what the requests take without HTTP, and what the calls take that they ask for. `fetch` writes
 * an answer as the server does, but for the objects of its response.
 */
async function openHere(folder) {
  const part = (name) => import(pathToFileURL(path.join(dist, name)).href);
  const [{ open }, { tablestoreFetch }] = await Promise.all([part("node.js"), part("tablestore.js")]);
  const db = await open("demo", folder === undefined ? { storage: "memory" } : { storage: "files", path: folder });
  await db.createAccessKey({ rights: ["read", "write", "admin"], accessKeyId: KEY.accessKeyId, accessKeySecret: KEY.secretAccessKey });
  const ask = tablestoreFetch(db);
  return {
    db,
    /** A call for each request. */
    doors: (requests) =>
      requests.map(({ path: target, headers, body }) => async () => {
        const response = await ask(`http://localhost${target}`, { method: "POST", headers, body });
        const { byteLength } = await response.arrayBuffer();
        if (!response.ok) throw new Error(`${response.status} by the door`);
        return byteLength;
      }),
  };
}

const primaryKey = [
  { name: "station", type: "STRING" },
  { name: "id", type: "INTEGER" },
];
const batch = (from) => ({ tables: [{ tableName: "t", rows: Array.from({ length: 200 }, (_, n) => ({ type: "PUT", ...rowOf(from + n) })) }] });
const ends = (bound) => [{ station: bound }, { id: bound }];
const range = { tableName: "t", direction: "FORWARD", inclusiveStartPrimaryKey: ends(TableStore.INF_MIN), exclusiveEndPrimaryKey: ends(TableStore.INF_MAX), limit: RANGE };
const many = (length, call) => Array.from({ length }, (_, n) => call(n));
/** The row of a number, as the package's own calls take it. */
const plain = (id) => ({
  primaryKey: { station: "SEA", id },
  attributes: { date: "2012-01-01", weather: `rain ${id}`, tempMax: 12.8, tempMin: 5.5, count: id, note: "x".repeat(60) },
});
// Puts and batches replace rows that are there, so that a range stays as long as it is.
const WORKLOADS = [
  { name: "put", rows: 1, calls: many(1000, (n) => ["putRow", { tableName: "t", ...rowOf(n) }]), own: (db) => many(1000, (n) => () => db.putRow({ tableName: "t", ...plain(n) })) },
  {
    name: "get",
    rows: 1,
    calls: many(1000, (n) => ["getRow", { tableName: "t", primaryKey: keyOf(n) }]),
    own: (db) => many(1000, (n) => () => db.getRow({ tableName: "t", primaryKey: plain(n).primaryKey })),
  },
  {
    name: "batch of 200 puts",
    rows: 200,
    calls: many(RANGE / 200, (n) => ["batchWriteRow", batch(200 * n)]),
    own: (db) => many(RANGE / 200, (n) => () => db.batchWriteRow(many(200, (row) => ({ tableName: "t", put: plain(200 * n + row) })))),
  },
  { name: "range of 5,000 rows", rows: RANGE, calls: [["getRange", range]], own: (db) => [() => db.getRange({ tableName: "t", limit: RANGE })] },
];

const folder = values.memory ? undefined : mkdtempSync(path.join(os.tmpdir(), "tabstore-serve-bench-"));
const inFolder = (name) => (folder === undefined ? undefined : path.join(folder, name));
const server = await startServer(dist, "Table Store", folder === undefined ? [] : ["--data", inFolder("served")]);
const here = await openHere(inFolder("here"));
try {
  const { address } = server;
  const client = new TableStore.Client({ endpoint: address, instancename: "demo", ...KEY, maxRetries: 0 });
  const options = { timeToLive: -1, maxVersions: 1 };
  await client.createTable({ tableMeta: { tableName: "t", primaryKey }, reservedThroughput: { capacityUnit: { read: 0, write: 0 } }, tableOptions: options });
  for (let from = 0; from < RANGE; from += 200) await client.batchWriteRow(batch(from));
  await here.db.createTable({ tableName: "t", primaryKey });
  for (let id = 0; id < RANGE; id++) await here.db.putRow({ tableName: "t", ...plain(id) });
  console.log(`${values.memory ? "in memory" : "in files"}, ${os.cpus().length} processors, load ${os.loadavg()[0].toFixed(1)}\n`);
  console.log("                       in flight   requests/s       rows/s    ms/request      MB/s   engine  codec   HTTP");
  for (const { name, rows, calls, own } of WORKLOADS) {
    const requests = await requestsOf(calls, address);
    const [doors, engine] = [here.doors(requests), own(here.db).map((call) => () => call().then(() => 0))];
    for (const inFlight of [1, IN_FLIGHT]) {
      const { done, bytes, ms } = await measureRequests(address, requests, { inFlight, seconds });
      const rate = (done / ms) * 1000;
      const line = [String(inFlight).padStart(9), rate.toFixed(0).padStart(12), (rate * rows).toFixed(0).padStart(12)];
      // Of the time from one answer to the next: what the engine's own call takes, what the door takes more, and the rest.
      const [all, door, least] = [{ done, ms }, await measureCalls(doors, { inFlight, seconds }), await measureCalls(engine, { inFlight, seconds })].map((of) => of.ms / of.done);
      const shares = [least, door - least, all - door].map((part) => `${((100 * part) / all).toFixed(0)} %`.padStart(7));
      console.log(name.padEnd(23) + [...line, ((ms * inFlight) / done).toFixed(2).padStart(13), (bytes / 1000 / ms).toFixed(1).padStart(9), shares.join("")].join(" "));
    }
  }
} finally {
  await here.db.close();
  await server.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
}
