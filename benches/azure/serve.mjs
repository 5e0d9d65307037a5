// `npx tabstore serve` beside Azurite over HTTP, in memory: `npm run serve -- [options]`. Requests are those of @azure/data-tables, made
// before the clock starts and sent again and again, so that the client takes little of the time.

import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";

import { columns, median, times } from "../browser/lib/statistics.mjs";
import { startServer } from "../node/lib/served.mjs";
import { measureRequests } from "../node/lib/throughput.mjs";
import { startAzurite } from "./lib/azurite.mjs";

const HELP = `
npm run serve -- [options]

Measures both with one request at a time and with 64 in flight: puts, gets, transactions of 100 puts, pages of 1,000 entities.
  --seconds N   seconds for each sample (1)
  --rounds N    samples of each, in turn; the table shows medians (3)
  --dist DIR    measure this build of the package (pkg/dist)
`;

const root = fileURLToPath(new URL("../..", import.meta.url));
const string = { type: "string" };
const { values } = parseArgs({ options: { seconds: string, rounds: string, dist: string, help: { type: "boolean", default: false } } });
if (values.help) {
  console.log(HELP.trim());
  process.exit(0);
}
const number = (name, otherwise) => {
  const value = Number(values[name] ?? otherwise);
  if (!(value > 0)) throw new Error(`--${name} is ${values[name]}; it must be a number above 0`);
  return value;
};
const [seconds, rounds] = [number("seconds", 1), number("rounds", 3)];
const ENTITIES = 1000;
const ACCOUNT = "bench";
const SECRET = "the-secret-of-the-benchmark";
const KEY = Buffer.from(SECRET).toString("base64");

/** TabStore's server. */
async function startTabstore() {
  const dist = path.resolve(values.dist ?? path.join(root, "pkg/dist"));
  const { address, stop } = await startServer(dist, "Azure tables", ["--instance", ACCOUNT, "--access-key-id", ACCOUNT, "--access-key-secret", SECRET]);
  return { url: `${address}/${ACCOUNT}`, stop };
}

const entity = (n) => ({ partitionKey: `p${Math.floor(n / 100)}`, rowKey: String(n % 100).padStart(2, "0"), count: n, name: `station ${n} of the north`, height: n * 0.25 + 0.125, active: n % 3 === 0 });
const many = (length, make) => Array.from({ length }, (_, n) => make(n));

/** What the client does, by workload. */
const WORKLOADS = {
  "put an entity": many(ENTITIES, (n) => (client) => client.upsertEntity(entity(n), "Replace")),
  "get an entity": many(ENTITIES, (n) => (client) => client.getEntity(entity(n).partitionKey, entity(n).rowKey)),
  "100 puts of a transaction": many(ENTITIES / 100, (part) => (client) => client.submitTransaction(many(100, (n) => ["upsert", entity(part * 100 + n), "Replace"]))),
  "a page of 1,000 entities": [(client) => client.listEntities().byPage({ maxPageSize: ENTITIES }).next()],
};

/** The requests of calls, signed. Both servers take them for a quarter of an hour. */
async function requestsOf(url, calls) {
  const requests = [];
  const httpClient = {
    async sendRequest({ method, url, headers, body }) {
      const { pathname, search } = new URL(url);
      requests.push({ method, path: pathname + search, headers: headers.toJSON({ preserveCase: true }), body });
      throw new Error("it is not sent");
    },
  };
  const client = new TableClient(url, "bench", new AzureNamedKeyCredential(ACCOUNT, KEY), { httpClient, allowInsecureConnection: true, retryOptions: { maxRetries: 0 } });
  for (const call of calls) await call(client).catch(() => {});
  return requests;
}

const servers = { TabStore: await startTabstore(), Azurite: await startAzurite(ACCOUNT, KEY) };
try {
  for (const { url } of Object.values(servers)) {
    const client = new TableClient(url, "bench", new AzureNamedKeyCredential(ACCOUNT, KEY), { allowInsecureConnection: true });
    await client.createTable();
    for (const call of WORKLOADS["100 puts of a transaction"]) await call(client);
  }
  console.log(`in memory, ${os.cpus().length} processors, load ${os.loadavg()[0].toFixed(1)}; requests a second, medians of ${rounds}\n`);
  const lines = [];
  for (const [name, calls] of Object.entries(WORKLOADS)) {
    const requests = {};
    for (const [server, { url }] of Object.entries(servers)) requests[server] = await requestsOf(url, calls);
    for (const inFlight of [1, 64]) {
      const rates = { TabStore: [], Azurite: [] };
      for (let round = 0; round < rounds; round++) {
        const turn = Object.keys(servers);
        if (round % 2 === 1) turn.reverse();
        for (const server of turn) {
          const { done, ms } = await measureRequests(servers[server].url, requests[server], { inFlight, seconds });
          rates[server].push((done / ms) * 1000);
        }
      }
      const [ours, theirs] = [median(rates.TabStore), median(rates.Azurite)];
      lines.push([name, String(inFlight), ours.toFixed(0), theirs.toFixed(0), times(ours / theirs)]);
    }
  }
  console.log(columns(["", "in flight", "TabStore", "Azurite", "TabStore ÷ Azurite"], lines));
} finally {
  for (const { stop } of Object.values(servers)) await stop();
}
