// The workloads in a page. Clients in browsers do not sign, so the door is open.

import { odata, TableClient } from "@azure/data-tables";
import { open } from "tabstore";
import { azureHttpClient } from "tabstore/azure";

import { cannedClient } from "../lib/canned.mjs";
import { Bench, rounds } from "../lib/workloads.mjs";

globalThis.bench = async ({ size, count, share, durabilities }) => {
  const at = (httpClient) => (name) => new TableClient("https://bench.table.core.windows.net", name, { httpClient, retryOptions: { maxRetries: 0 } });
  const benches = { floor: new Bench(at(await cannedClient({ open, azureHttpClient, TableClient, odata })), size, { odata, checks: false }) };
  const instances = [];
  for (const durability of durabilities) {
    const db = await open(durability, { durability });
    instances.push(db);
    benches[durability] = new Bench(at(azureHttpClient(db, { auth: "off" })), size, { odata });
    await globalThis.say(`${size} entities in the instance with '${durability}'`);
    await benches[durability].fill();
  }
  const samples = await rounds(benches, { count, share, say: (text) => void globalThis.say(text) });
  for (const bench of Object.values(benches)) await bench.verify();
  for (const db of instances) await db.close();
  return samples;
};
