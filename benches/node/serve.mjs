// The server's throughput: `npm run serve -- [options]`. Requests are those of the npm package tablestore, made before the clock
// starts and sent again and again, so that the client takes little of the time. Figures of one run are comparable, others are not.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const HELP = `
npm run serve -- [options]

Measures npx tabstore serve over HTTP, with one request at a time and with many in flight: puts, gets, batches of 200 puts, ranges of
5,000 rows. Rows have 6 columns, about 150 bytes.
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

/** The server in a process of its own. */
async function startServer() {
  const folder = values.memory ? undefined : mkdtempSync(path.join(os.tmpdir(), "tabstore-serve-bench-"));
  const args = [path.join(dist, "cli.js"), "serve", "--port", "0", "--azure-port", "0", "--console-port", "0"];
  const child = spawn(process.execPath, [...args, ...(folder === undefined ? [] : ["--data", folder])], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((resolve, reject) => {
    let printed = "";
    child.stdout.on("data", (data) => {
      printed += data;
      const found = /Table Store +(http:\S+)/.exec(printed)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(`the server ended: ${printed}`)));
  });
  return {
    address,
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      if (folder !== undefined) rmSync(folder, { recursive: true });
    },
  };
}

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
  const client = new TableStore.Client({ endpoint: address, instancename: "demo", accessKeyId: "testid", secretAccessKey: "testsecret", maxRetries: 0 });
  for (const [operation, params] of calls) await client[operation](params).catch(() => {});
  TableStore.HttpClient.prototype.handleRequest = before;
  return requests;
}

/** Sends a request to its end. Gives the bytes of the answer. */
function send(agent, { hostname, port }, { path: target, headers, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method: "POST", path: target, headers, agent }, (response) => {
      let bytes = 0;
      const pieces = [];
      response.on("data", (piece) => {
        bytes += piece.length;
        if (response.statusCode !== 200) pieces.push(piece);
      });
      response.on("end", () => (response.statusCode === 200 ? resolve(bytes) : reject(new Error(`${response.statusCode} ${Buffer.concat(pieces)}`))));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Sends requests for a while, so many at a time. */
async function measure(address, requests, inFlight) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: inFlight });
  const to = new URL(address);
  const run = async (ms) => {
    const end = performance.now() + ms;
    let done = 0;
    let bytes = 0;
    let next = 0;
    const one = async () => {
      while (performance.now() < end) {
        const answered = await send(agent, to, requests[next++ % requests.length]);
        bytes += answered;
        done += 1;
      }
    };
    const begun = performance.now();
    await Promise.all(Array.from({ length: inFlight }, one));
    return { done, bytes, ms: performance.now() - begun };
  };
  await run(300);
  const figures = await run(seconds * 1000);
  agent.destroy();
  return figures;
}

const server = await startServer();
try {
  const { address } = server;
  const client = new TableStore.Client({ endpoint: address, instancename: "demo", accessKeyId: "testid", secretAccessKey: "testsecret", maxRetries: 0 });
  const primaryKey = [
    { name: "station", type: "STRING" },
    { name: "id", type: "INTEGER" },
  ];
  const options = { timeToLive: -1, maxVersions: 1 };
  await client.createTable({ tableMeta: { tableName: "t", primaryKey }, reservedThroughput: { capacityUnit: { read: 0, write: 0 } }, tableOptions: options });
  const batch = (from) => ({ tables: [{ tableName: "t", rows: Array.from({ length: 200 }, (_, n) => ({ type: "PUT", ...rowOf(from + n) })) }] });
  for (let from = 0; from < RANGE; from += 200) await client.batchWriteRow(batch(from));
  const ends = (bound) => [{ station: bound }, { id: bound }];
  const range = { tableName: "t", direction: "FORWARD", inclusiveStartPrimaryKey: ends(TableStore.INF_MIN), exclusiveEndPrimaryKey: ends(TableStore.INF_MAX), limit: RANGE };
  const many = (length, call) => Array.from({ length }, (_, n) => call(n));
  // Puts and batches replace rows that are there, so that a range stays as long as it is.
  const workloads = [
    ["put", 1, many(1000, (n) => ["putRow", { tableName: "t", ...rowOf(n) }])],
    ["get", 1, many(1000, (n) => ["getRow", { tableName: "t", primaryKey: keyOf(n) }])],
    ["batch of 200 puts", 200, many(RANGE / 200, (n) => ["batchWriteRow", batch(200 * n)])],
    ["range of 5,000 rows", RANGE, [["getRange", range]]],
  ];
  console.log(`${values.memory ? "in memory" : "in files"}, ${os.cpus().length} processors, load ${os.loadavg()[0].toFixed(1)}\n`);
  console.log("                       in flight   requests/s       rows/s    ms/request      MB/s");
  for (const [name, rows, calls] of workloads) {
    const requests = await requestsOf(calls, address);
    for (const inFlight of [1, IN_FLIGHT]) {
      const { done, bytes, ms } = await measure(address, requests, inFlight);
      const rate = (done / ms) * 1000;
      const line = [String(inFlight).padStart(9), rate.toFixed(0).padStart(12), (rate * rows).toFixed(0).padStart(12)];
      console.log(name.padEnd(23) + [...line, ((ms * inFlight) / done).toFixed(2).padStart(13), (bytes / 1000 / ms).toFixed(1).padStart(9)].join(" "));
    }
  }
} finally {
  await server.stop();
}
