/** `tabstore/remote`: the instance of a server, with all that an instance has; who is let in; what ends a session. */

import assert from "node:assert/strict";
import http from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, test } from "node:test";

import { stringify } from "devalue";
import { WebSocket, WebSocketServer } from "ws";

import { openRemote, type RemoteOptions } from "../src/remote/index.js";
import { define, t as column } from "../src/schema/index.js";
import { Sessions } from "../src/serve/sessions.js";
import { PROTOCOL } from "../src/tabs/channel.js";
import { azure } from "../src/azure/index.js";
import { code, load, random, skip } from "./support/package.js";
import { type ServerProcess, serve } from "./support/server.js";

const KEY = { tableName: "reading", primaryKey: { station: "SEA", at: 7n } };
const TABLE = {
  tableName: "reading",
  primaryKey: [
    { name: "station", type: "STRING" },
    { name: "at", type: "INTEGER" },
  ],
  maxVersions: 3,
} as const;

// Node 20 has none of its own.
Object.assign(globalThis, { WebSocket });

/** Waits until something holds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    assert.ok(tries < 500, "it has not come true in five seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The status of the answer to a request to become a WebSocket; 101: it is one. */
function upgrade(address: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = http.request(`${address}${path}`, {
      headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", ...headers },
    });
    asked.on("upgrade", (_response, socket) => {
      socket.destroy();
      resolve(101);
    });
    asked.on("response", (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** What a bare socket hears until it is closed. It says `first` once it is open, and `then` once it has an answer. */
function converse(
  address: string,
  first: string | Uint8Array,
  ...then: (string | Uint8Array)[]
): Promise<{ readonly closed: number; readonly heard: string[] }> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${address.replace("http", "ws")}/_session`);
    const heard: string[] = [];
    socket.on("open", () => socket.send(first));
    socket.on("message", (data) => {
      if (heard.push(String(data)) === 1) for (const message of then) socket.send(message);
    });
    socket.on("error", () => {});
    socket.on("close", (closed) => resolve({ closed, heard }));
  });
}

const HELLO = { kind: "hello", protocol: PROTOCOL, accessKeyId: "testid", accessKeySecret: "testsecret" };

describe("a session of a server", { skip }, () => {
  let server: ServerProcess;
  let address: string;
  before(async () => {
    server = await serve(undefined);
    address = server.console;
  });
  after(() => server.end());

  test("I2, R1, D2: rows, tables, versions and refusals are those of an instance in this process", async () => {
    const db = await openRemote(address, { integers: "bigint" });
    assert.deepEqual([db.name, db.persistence, db.role, db.closed], ["demo", "memory", "leader", false]);
    await db.createTable(TABLE);
    await db.putRow({ ...KEY, attributes: { wet: true, grams: 9007199254740993n, raw: new Uint8Array([1, 2]) } });
    await db.updateRow({ ...KEY, increment: { grams: 2n } });
    const { row } = await db.getRow({ ...KEY, maxVersions: 3 });
    assert.deepEqual(row?.toObject(), { station: "SEA", at: 7n, wet: true, grams: 9007199254740995n, raw: new Uint8Array([1, 2]) });
    assert.equal((await db.describeTable("reading")).maxVersions, 3);
    assert.deepEqual(await db.listTable(), ["reading"]);
    await assert.rejects(db.describeTable("nothing"), code("OTSObjectNotExist"));
    await db.close();
  });

  test("R2, R5, ST1: many rows, transactions and live changes come through, beside the other sessions", async () => {
    const [db, other] = await Promise.all([openRemote(address), openRemote(address)]);
    await db.createTable({ ...TABLE, tableName: "many", enableLocalTransaction: true, stream: { enabled: true, expirationHours: 24 } });
    const changes = other.changes({ tableName: "many" });
    const first = changes.next();
    const rows = Array.from({ length: 20_000 }, (_, at) => ({ station: "SEA", at, grams: at }));
    assert.equal((await db.importRows("many", rows)).rows, 20_000);
    assert.deepEqual((await first).value?.primaryKey, { station: "SEA", at: 0 });
    await changes.return?.();
    assert.equal((await other.count({ tableName: "many" })).count, 20_000);
    const transaction = await db.startLocalTransaction({ tableName: "many", partitionKey: { station: "SEA" } });
    await transaction.putRow({ tableName: "many", primaryKey: { station: "SEA", at: -1 }, attributes: {} });
    assert.equal((await other.getRow({ tableName: "many", primaryKey: { station: "SEA", at: -1 } })).row, null);
    await transaction.commit();
    assert.notEqual((await other.getRow({ tableName: "many", primaryKey: { station: "SEA", at: -1 } })).row, null);
    await Promise.all([db.close(), other.close()]);
  });

  test("I5, I6, V9: the look inside, access keys and administration work, and the space is that of the store", async () => {
    const db = await openRemote(address);
    await db.createTable({ ...TABLE, tableName: "inside" });
    await db.putRow({ ...KEY, tableName: "inside", attributes: { wet: true } });
    await db.flush();
    const { row, versions } = await db.getStoredRow({ ...KEY, tableName: "inside" });
    assert.deepEqual([row?.toObject()["wet"], versions["wet"]?.length], [true, 1]);
    assert.ok((await db.segments()).trees.length > 0);
    assert.ok((await db.metrics()).sessions >= 1);
    const { accessKeyId } = await db.createAccessKey({ rights: ["read"] });
    assert.ok((await db.listAccessKeys()).some((key) => key.accessKeyId === accessKeyId));
    const space = await db.storage();
    assert.deepEqual([space.used, space.quota, space.persisted, space.live > 0], [null, null, null, true]);
    await assert.rejects(db.persist(), code("Unavailable"));
    await db.preload();
    await db.close();
    assert.equal(db.closed, true);
  });

  test("Z1: the Azure Table service of the instance answers", async () => {
    const db = await openRemote(address);
    const things = await azure(db, "demo").createTable("things");
    await things.createEntity({ partitionKey: "a", rowKey: "b", size: 3 });
    assert.equal((await things.getEntity("a", "b"))["size"], 3);
    await db.close();
  });

  test("I6: a key without all rights, a wrong one and one that is disabled are refused by name", async () => {
    const db = await openRemote(address);
    const refused = async (id: string, secret: string, name: string): Promise<void> =>
      assert.rejects(openRemote(address, { accessKeyId: id, accessKeySecret: secret }), code(name));
    const { accessKeyId, accessKeySecret } = await db.createAccessKey({ rights: ["read", "write"] });
    await refused(accessKeyId, accessKeySecret, "OTSNoPermissionAccess");
    await refused(accessKeyId, "another", "OTSAuthFailed");
    await refused("nobody", "testsecret", "OTSAuthFailed");
    await db.updateAccessKey({ accessKeyId, rights: ["read", "write", "admin"] });
    await (await openRemote(address, { accessKeyId, accessKeySecret })).close();
    await db.updateAccessKey({ accessKeyId, enabled: false });
    await refused(accessKeyId, accessKeySecret, "OTSAuthFailed");
    await db.close();
  });

  test("I6: a foreign page, a foreign name of the server and another path get no socket", async () => {
    const host = new URL(address).host;
    assert.equal(await upgrade(address, "/_session", { Host: host }), 101);
    assert.equal(await upgrade(address, "/_session", { Host: host, Origin: "http://localhost:5173" }), 101);
    assert.equal(await upgrade(address, "/_session", { Host: host, Origin: "https://elsewhere.example" }), 403);
    assert.equal(await upgrade(address, "/_session", { Host: host, Origin: "null" }), 403);
    assert.equal(await upgrade(address, "/_session", { Host: "elsewhere.example" }), 403);
    assert.equal(await upgrade(address, "/other", { Host: host }), 404);
    // Another protocol is proposed and not taken: the file, or its lack, is told as without that.
    const plain = await fetch(`${address}/`);
    assert.equal(await upgrade(address, "/", { Host: host, Upgrade: "h2c" }), plain.status);
    assert.equal(plain.headers.get("x-frame-options"), "SAMEORIGIN");
  });

  test("I6: who says anything else first, too much, or comes from another release has no session", async () => {
    assert.deepEqual(await converse(address, stringify({ kind: "call", id: 1, op: "listTable", args: {} })), { closed: 1006, heard: [] });
    assert.deepEqual(await converse(address, new Uint8Array(100)), { closed: 1006, heard: [] });
    assert.deepEqual(await converse(address, "no message"), { closed: 1006, heard: [] });
    assert.deepEqual(await converse(address, stringify({ ...HELLO, accessKeyId: "x".repeat(100_000) })), { closed: 1006, heard: [] });
    const { closed, heard } = await converse(address, stringify({ ...HELLO, protocol: PROTOCOL + 1 }));
    assert.equal(closed, 1008);
    assert.match(heard.join(), /of different releases/);
  });

  test("I6, R5: a session that says nonsense is cut off, or its frame refused; the server and the others go on", async () => {
    const db = await openRemote(address);
    const next = random(20_261_130);
    const bytes = (most: number): Uint8Array => Uint8Array.from({ length: next(most) + 1 }, () => next(256));
    const nonsense = [
      ...["", "1", "[]", "{}", '[{"kind":1},"x"]', stringify({ kind: "other" }), stringify(null)].map((text) => [text]),
      ...Array.from({ length: 40 }, () => [bytes(300), "end"]),
      [stringify({ kind: "call", id: 1, op: "constructor", args: {} }), "end"],
      [stringify({ kind: "call", id: {}, op: "describeTable", args: 7 }), "end"],
      [stringify({ kind: "call" }), "end"],
    ];
    for (const messages of nonsense) {
      const { closed } = await converse(address, stringify(HELLO), ...messages);
      assert.ok([1006, 1008].includes(closed), `${closed} for ${messages.map(String).join()}`);
    }
    assert.ok((await db.listTable()).length >= 0);
    await db.close();
  });

  test("I5: a page that goes without a word leaves no session behind, and one that closes neither", async () => {
    const db = await openRemote(address);
    const before = (await db.metrics()).sessions;
    const other = await openRemote(address);
    assert.equal((await db.metrics()).sessions, before + 1);
    await other.close();
    await until(async () => (await db.metrics()).sessions === before);
    const socket = new WebSocket(`${address.replace("http", "ws")}/_session`);
    await new Promise((resolve) => socket.on("open", resolve));
    socket.send(stringify(HELLO));
    await new Promise((resolve) => socket.on("message", resolve));
    assert.equal((await db.metrics()).sessions, before + 1);
    socket.terminate();
    await until(async () => (await db.metrics()).sessions === before);
    await db.close();
  });

  test("wrong arguments are refused by name, and an opening can be given up", async () => {
    for (const [given, options, message] of [
      ["nowhere", {}, /'address' is .*address of a server's console/],
      [7, {}, /'address'/],
      ["ftp://127.0.0.1", {}, /'address'/],
      [address, { secret: "x" }, /Unknown argument 'secret'/],
      [address, { accessKeyId: 7 }, /'accessKeyId' is a number/],
      [address, { integers: "no" }, /'integers'/],
    ] as const) {
      await assert.rejects(openRemote(given as string, options as RemoteOptions), code("OTSParameterInvalid", message));
    }
    const reason = new Error("enough");
    await assert.rejects(openRemote(address, { signal: AbortSignal.abort(reason) }), reason);
    const control = new AbortController();
    const opening = openRemote(address, { signal: control.signal });
    control.abort(reason);
    await assert.rejects(opening, reason);
    await assert.rejects(openRemote("http://127.0.0.1:1"), code("Unavailable"));
  });
});

test("R2: many large answers at once are no reason to cut a page off", { skip }, async (t) => {
  const server = await serve(t);
  const db = await openRemote(server.console);
  await db.createTable(TABLE);
  const big = "x".repeat(2_000_000);
  await db.putRow({ ...KEY, attributes: { big } });
  const answers = await Promise.all(Array.from({ length: 60 }, () => db.getRow(KEY)));
  assert.ok(answers.every(({ row }) => row?.get("big") === big));
  // A request that is too large goes there whole, and is refused as an instance here refuses it.
  const attributes = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`c${at}`, big]));
  const here = await (await load()).open("demo", { storage: "memory" });
  await here.createTable(TABLE);
  const [refused, wanted] = await Promise.all([db, here].map((one) => one.putRow({ ...KEY, attributes }).then(String, String)));
  assert.equal(refused, wanted);
  await Promise.all([db.close(), here.close()]);
  await server.end();
});

test("I6: a client without a key sends little, and is gone soon; one that is refused a socket leaves no connection", { skip }, async (t) => {
  const server = await serve(t, "--access-key-secret", "another");
  const begin = performance.now();
  const socket = new WebSocket(`${server.console.replace("http", "ws")}/_session`);
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  await new Promise((resolve) => socket.on("open", resolve));
  socket.send(stringify(HELLO));
  socket.send(new Uint8Array(20 * 1024 * 1024));
  await closed;
  assert.ok(performance.now() - begin < 5000);
  const { hostname, port } = new URL(server.console);
  const tcp = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  tcp.write("GET /_session HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  tcp.resume();
  await new Promise((resolve) => tcp.on("end", resolve));
  const begun = performance.now();
  assert.equal(await server.end(), 0);
  assert.ok(performance.now() - begun < 5000, "it ends, though the client keeps its half of the connection");
  tcp.destroy();
});

test("R5: when the server is asked to stop, calls on rows that are under way are answered", { skip }, async (t) => {
  const server = await serve(t);
  const db = await openRemote(server.console);
  await db.createTable(TABLE);
  const puts = Array.from({ length: 2000 }, (_, at) => db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at } }));
  await puts[0];
  assert.equal(await server.end(), 0);
  await Promise.all(puts);
});

test("ST1, D4: typed tables work on the instance of a server", { skip }, async (t) => {
  const server = await serve(t);
  const schema = define({ order: { key: "id", columns: { id: column.integer, note: column.text } } });
  const db = await openRemote(server.console, { schema });
  await db.order.put({ id: 7, note: "typed" });
  assert.deepEqual(await db.order.get(7), { id: 7, note: "typed" });
  await db.close();
  await server.end();
});

test("I6, R5: a session ends soon after its key, and after its page has fallen silent; a later one hears of a trouble that lasts", { skip }, async () => {
  const { open } = await load();
  const db = await open("demo", { storage: "memory" });
  let isKnown = true;
  const told: unknown[] = [];
  const healthy: ((event: object) => void)[] = [];
  const heard = new Proxy(db, {
    get: (target, name) =>
      name === "addEventListener" ? (_: string, listener: (event: object) => void) => healthy.push(listener) : (Reflect.get(target, name, target) as unknown),
  });
  const sessions = new Sessions(heard, {
    isKnownHost: () => true,
    isKnownPage: () => true,
    checkKey: async () => {
      if (!isKnown) throw new Error("no such key");
    },
    report: (error) => told.push(error),
    lookMs: 20,
  });
  const server = http.createServer().on("upgrade", (request, socket, head) => sessions.upgrade(request, socket, head));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  healthy[0]!({ healthy: true, error: { code: "QuotaExceeded", status: 507, retryable: true, message: "full" } });
  const page = await openRemote(address);
  const trouble = await new Promise<{ readonly healthy: boolean; readonly error: { readonly code: string } | null }>((resolve) =>
    page.addEventListener("health", resolve as never, { once: true }),
  );
  assert.deepEqual([trouble.healthy, trouble.error?.code], [true, "QuotaExceeded"]);
  // It lives through many looks.
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(await page.listTable(), []);
  const silent = new WebSocket(`${address.replace("http", "ws")}/_session`, { autoPong: false });
  silent.on("open", () => silent.send(stringify(HELLO)));
  await new Promise((resolve) => silent.on("close", resolve));
  isKnown = false;
  await until(async () => page.closed);
  await assert.rejects(openRemote(address));
  await sessions.stop();
  sessions.end();
  server.close();
  await db.close();
  assert.deepEqual(told, []);
});

test("a peer that is no server of this release is refused by name, and an opening that is given up leaves no connection", { skip }, async () => {
  const peer = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => peer.on("listening", resolve));
  const address = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  for (const said of [new Uint8Array(3), "nothing", stringify({ kind: "other" }), stringify({ kind: "welcome" }), stringify({ kind: "refused" })]) {
    peer.once("connection", (socket) => socket.send(said));
    await assert.rejects(openRemote(address), code("Unavailable"));
  }
  await assert.rejects(openRemote(address, { signal: AbortSignal.timeout(50) }));
  await until(async () => peer.clients.size === 0);
  peer.close();
});

test("R4: when the server ends, a handle ends by name; calls without an answer reject, and the stored rows are there later", { skip }, async (t) => {
  const server = await serve(t);
  const db = await openRemote(server.console);
  await db.createTable(TABLE);
  const told = new Promise<unknown>((resolve) => db.addEventListener("health", resolve, { once: true }));
  const waiting = db.changes({ tableName: "none" }).next();
  waiting.catch(() => {});
  assert.equal(await server.end(), 0);
  const { healthy, error } = (await told) as { readonly healthy: boolean; readonly error: { readonly code: string } };
  assert.deepEqual([healthy, error.code], [false, "Closed"]);
  await assert.rejects(db.listTable(), code("Closed"));
  await db.close();
});

test("I6: a server that lets every request pass opens sessions without a key", { skip }, async (t) => {
  const server = await serve(t, "--auth", "off");
  const db = await openRemote(server.console, { accessKeyId: "anybody", accessKeySecret: "" });
  assert.deepEqual(await db.listTable(), []);
  await db.close();
  await server.end();
});
