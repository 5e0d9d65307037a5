/** `tabstore/remote`: the instance of a server, with all that an instance has; who is let in; what ends a session. */

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, describe, test } from "node:test";

import { stringify } from "devalue";
import { WebSocket } from "ws";

import { openRemote, type RemoteOptions } from "../src/remote/index.js";
import { PROTOCOL } from "../src/tabs/channel.js";
import { azure } from "../src/azure/index.js";
import { code, random, skip } from "./support/package.js";
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
