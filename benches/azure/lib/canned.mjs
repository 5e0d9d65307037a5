// A client of HTTP that answers at once with what an engine has answered before: what is left is the SDK.

import { Bench, WORKLOADS } from "./workloads.mjs";

/** The kind of a request, as far as answers differ. */
function kindOf({ method, url }) {
  const { pathname, searchParams } = new URL(url);
  if (method === "POST") return pathname.endsWith("/$batch") ? "batch" : "create";
  if (method !== "GET") return method;
  return searchParams.has("$filter") ? "range" : searchParams.has("$top") ? "page" : "get";
}

/** A client whose answers are those that TabStore gave to each workload once, for entities as they are in the tables. */
export async function cannedClient({ open, azureHttpClient, TableClient, odata }) {
  const db = await open("canned", { storage: "memory" });
  const client = azureHttpClient(db, { auth: "off" });
  const answers = new Map();
  const recorder = {
    async sendRequest(request) {
      const { status, headers, bodyAsText } = await client.sendRequest(request);
      answers.set(kindOf(request), { status, headers, bodyAsText });
      return { request, status, headers, bodyAsText };
    },
  };
  const bench = new Bench((name) => new TableClient("https://canned.table.core.windows.net", name, { httpClient: recorder }), 1000, { odata, checks: false });
  await bench.fill();
  for (const name of WORKLOADS) await bench.run(name, 1);
  await db.close();
  return {
    async sendRequest(request) {
      const answer = answers.get(kindOf(request));
      if (answer === undefined) throw new Error(`nothing was answered to ${request.method} ${request.url}`);
      return { request, ...answer };
    },
  };
}
