/** The entry `tabstore/tablestore` on the real engine: the protocol of Table Store without a network. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import type { Database } from "../src/index.js";
import { type FetchFunction, isTablestoreRequest, serveTablestore, tablestoreFetch, tablestoreHttpClient } from "../src/tablestore/index.js";
import { code, open, skip } from "./support/package.js";
import { cellsOf, type Sdk, sdk, sdkClient } from "./support/tablestore-sdk.js";

const primaryKey = [{ name: "id", type: "INTEGER" }] as const;

/** The headers of a request that needs no signature. */
const headers = (): Record<string, string> => ({
  "x-ots-apiversion": "2015-12-31",
  "x-ots-date": new Date().toISOString(),
  "x-ots-instancename": "demo",
  "x-ots-accesskeyid": "testid",
  "x-ots-contentmd5": "1B2M2Y8AsgTpgAmY7PhCfg==",
});
const post = (): RequestInit => ({ method: "POST", headers: headers() });

/** A database with a table. */
async function withTable(): Promise<Database> {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey });
  return db;
}

test("I6: a fetch on a database answers with the service's statuses, headers and bytes, and opens to everybody by auth off alone", { skip }, async () => {
  const db = await withTable();
  const [signed, off] = [tablestoreFetch(db), tablestoreFetch(db, { auth: "off" })];
  const refused = await signed("http://localhost/ListTable", post());
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /^\n\rOTSAuthFailed/);
  for (const input of ["http://localhost/ListTable", "https://demo.cn-hangzhou.ots.aliyuncs.com/ListTable", new URL("http://x/ListTable")]) {
    const listed = await off(input, post());
    assert.deepEqual([listed.status, Buffer.from(await listed.arrayBuffer()).toString("hex")], [200, "0a0174"]);
    assert.match(listed.headers.get("x-ots-requestid") ?? "", /^[\w-]{8,}$/);
  }
  const request = new Request("http://localhost/DescribeTable", {
    ...post(),
    headers: { ...headers(), "x-ots-contentmd5": "yLFeGnWRrRXWNgAc1U8CZQ==" },
    body: Buffer.from("0a0174", "hex"),
  });
  assert.equal((await off(request)).status, 200, "a Request with bytes");
  const missing = await off("http://localhost/Nothing", post());
  assert.ok(missing.status >= 400 && missing.status < 500, String(missing.status));
  assert.notEqual((await off("http://localhost/ListTable", { headers: headers() })).status, 200, "a GET is none");
  await db.close();
});

test("a fetch on a database rejects with the reason of its signal, after close, and for wrong options", { skip }, async () => {
  const db = await withTable();
  const fetch = tablestoreFetch(db, { auth: "off" });
  const reason = new Error("enough");
  await assert.rejects(fetch("http://localhost/ListTable", { ...post(), signal: AbortSignal.abort(reason) }), reason);
  for (const options of [{ auth: "on" }, { key: "x" }, "off", null]) assert.throws(() => tablestoreFetch(db, options as never), code("OTSParameterInvalid"));
  assert.throws(() => tablestoreFetch({} as never), /must be an open Database/);
  await db.close();
  await assert.rejects(fetch("http://localhost/ListTable", post()), code("Closed"));
});

/** Gives the package another HTTP client until the test is over. */
const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});
function withClient(fetch: FetchFunction): Sdk {
  const TableStore = sdk();
  const before = TableStore.HttpClient.prototype as { handleRequest: unknown };
  const { handleRequest } = before;
  before.handleRequest = tablestoreHttpClient(fetch).handleRequest;
  undo.push(() => (before.handleRequest = handleRequest));
  return TableStore;
}

test("R1, I6: npm tablestore works on a database without a network, and signs", { skip }, async () => {
  const db = await withTable();
  const { Long, Condition } = withClient(tablestoreFetch(db));
  const { accessKeyId, accessKeySecret } = await db.createAccessKey({ rights: ["read", "write"] });
  const client = sdkClient("http://localhost", { accessKeyId, secretAccessKey: accessKeySecret });
  const row = { tableName: "t", primaryKey: [{ id: Long.fromNumber(1) }] };
  await client.putRow!({ ...row, condition: new Condition(0, null), attributeColumns: [{ text: "x".repeat(100_000) }, { bytes: Buffer.from([0, 255]) }] });
  const { row: found } = await client.getRow!(row);
  assert.deepEqual(cellsOf(found), [
    ["bytes", "00ff"],
    ["text", "x".repeat(100_000)],
  ]);
  await assert.rejects(client.deleteTable!({ tableName: "t" }), { code: 403, message: /OTSNoPermissionAccess/ });
  await assert.rejects(sdkClient("http://localhost", { accessKeyId, secretAccessKey: "wrong" }).getRow!(row), { code: 403, message: /OTSAuthFailed/ });
  await db.close();
  await assert.rejects(client.getRow!(row), { code: "NetworkingError", message: /closed/i });
});

test("npm tablestore sends by any fetch: exactly its bytes, and an error and a timeout are its own", async () => {
  const seen: { url: string; method: string; body: Uint8Array; names: string[] }[] = [];
  withClient(async (input, init) => {
    const request = new Request(input, init);
    seen.push({ url: request.url, method: request.method, body: new Uint8Array(await request.arrayBuffer()), names: [...request.headers.keys()] });
    if (seen.length === 1) throw new TypeError("no network");
    // The timer of a signal alone keeps no process of Node alive.
    const awake = setInterval(() => {}, 1000);
    return new Promise((_, reject) => {
      request.signal.addEventListener("abort", () => {
        clearInterval(awake);
        reject(request.signal.reason);
      });
    });
  });
  await assert.rejects(sdkClient("http://localhost:7").describeTable!({ tableName: "t" }), { code: "NetworkingError", message: "no network" });
  await assert.rejects(sdkClient("http://localhost:7", { httpOptions: { timeout: 20 } }).listTable!({}), { code: "NetworkingError", message: /timeout/i });
  const [{ url, method, body, names }] = seen as [(typeof seen)[0]];
  assert.deepEqual([url, method, Buffer.from(body).toString("hex")], ["http://localhost:7/DescribeTable", "POST", "0a0174"]);
  assert.ok(names.includes("x-ots-signature") && !names.includes("host"), names.join());
});

/** A service worker's globals, in which listeners are kept. */
function serviceWorker(): { readonly fire: (kind: string, event?: object) => Promise<unknown> | undefined; readonly calls: string[] } {
  const listeners = new Map<string, (event: unknown) => void>();
  const calls: string[] = [];
  const globals = {
    skipWaiting: async () => void calls.push("skipWaiting"),
    clients: { claim: async () => void calls.push("claim") },
    location: { origin: "http://page" },
    addEventListener: (kind: string, listener: (event: unknown) => void) => void listeners.set(kind, listener),
  };
  const names = Object.keys(globals) as (keyof typeof globals)[];
  const before = names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
  for (const name of names) Object.defineProperty(globalThis, name, { value: globals[name], configurable: true });
  undo.push(() => {
    for (const [at, name] of names.entries()) {
      const one = before[at];
      if (one === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, one);
    }
  });
  const fire = (kind: string, event: object = {}): Promise<unknown> | undefined => {
    let work: Promise<unknown> | undefined;
    const take = (given: Promise<unknown>): void => void (work = given);
    listeners.get(kind)!({ ...event, respondWith: take, waitUntil: take });
    return work;
  };
  return { fire, calls };
}

test("a service worker answers the SDK's calls to its own origin, and leaves all else alone", { skip }, async () => {
  const databases: Database[] = [];
  const { fire, calls } = serviceWorker();
  let isRefused = true;
  const openNext = async (): Promise<Database> => {
    if (isRefused) {
      isRefused = false;
      throw new Error("no room");
    }
    const db = await withTable();
    databases.push(db);
    return db;
  };
  serveTablestore(openNext, { auth: "off" });
  await fire("install");
  await fire("activate");
  assert.deepEqual(calls, ["skipWaiting", "claim"]);
  const ask = (url: string, init = post()): Promise<unknown> | undefined => fire("fetch", { request: new Request(url, init) });
  for (const url of ["http://other/ListTable", "http://page/", "http://page/a/ListTable", "http://page/list.html"]) assert.equal(ask(url), undefined, url);
  assert.equal(ask("http://page/ListTable", { headers: headers() }), undefined, "a GET");
  assert.equal(ask("http://page/ListTable", { method: "POST" }), undefined, "no header of the protocol");
  assert.equal(databases.length, 0, "nothing is opened before a call");
  await assert.rejects(ask("http://page/ListTable")!, /no room/);
  const status = async (): Promise<number> => ((await ask("http://page/ListTable")) as Response).status;
  assert.deepEqual(await Promise.all([status(), status()]), [200, 200]);
  assert.equal(databases.length, 1, "one opening for two calls");
  await databases[0]!.close();
  await assert.rejects(status(), code("Closed"));
  assert.equal(await status(), 200, "the next call opens again");
  await databases[1]!.close();
});

test("outside of a service worker it says so, and requests are told by method, path and header", () => {
  assert.throws(() => serveTablestore(() => assert.fail("opened")), { name: "TypeError", message: /script of a service worker/ });
  assert.ok(isTablestoreRequest(new Request("http://page/GetRow", post())));
  for (const [url, init] of [
    ["http://page/GetRow", { headers: headers() }],
    ["http://page/GetRow", { method: "POST" }],
    ["http://page/Get/Row", post()],
    ["http://page/", post()],
  ] as const) {
    assert.ok(!isTablestoreRequest(new Request(url, init)), url);
  }
});
