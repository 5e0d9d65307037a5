// The comparison in Node: TabStore in memory, Azurite in memory, and the client alone.

import path from "node:path";
import { pathToFileURL } from "node:url";

import { AzureNamedKeyCredential, odata, TableClient } from "@azure/data-tables";

import { startAzurite } from "./azurite.mjs";
import { cannedClient } from "./canned.mjs";
import { Bench, rounds } from "./workloads.mjs";

const ACCOUNT = "bench";

/** Measures with so many entities in each table. The client signs for all three with the same key. */
export async function measure({ size, dist, count, share, say }) {
  const [{ open }, { azureHttpClient }] = await Promise.all(["node.js", "azure.js"].map((name) => import(pathToFileURL(path.join(dist, name)).href)));
  const httpClient = await cannedClient({ open, azureHttpClient, TableClient, odata });
  const db = await open("bench", { storage: "memory" });
  const { accessKeySecret } = await db.createAccessKey({ rights: ["read", "write", "admin"] });
  const key = Buffer.from(accessKeySecret).toString("base64");
  const credential = new AzureNamedKeyCredential(ACCOUNT, key);
  const azurite = await startAzurite(ACCOUNT, key);
  try {
    const url = `https://${ACCOUNT}.table.core.windows.net`;
    const at = (address, options) => (name) => new TableClient(address, name, credential, { ...options, retryOptions: { maxRetries: 0 } });
    const benches = {
      floor: new Bench(at(url, { httpClient }), size, { odata, checks: false }),
      tabstore: new Bench(at(url, { httpClient: azureHttpClient(db) }), size, { odata }),
      azurite: new Bench(at(azurite.url, { allowInsecureConnection: true }), size, { odata }),
    };
    for (const name of ["tabstore", "azurite"]) {
      say(`${size} entities for ${name}`);
      await benches[name].fill();
    }
    const samples = await rounds(benches, { count, share, say });
    for (const bench of Object.values(benches)) await bench.verify();
    return samples;
  } finally {
    await azurite.stop();
    await db.close();
  }
}
