/** `npx tabstore serve`: who is let in, what is refused, and how it ends. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { connect, createServer, type Socket } from "node:net";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";

import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";

import { serveArguments } from "../src/serve/arguments.js";
import { hostCheck, isKnownOrigin, originCheck } from "../src/serve/hosts.js";
import { ByteRoom, Room } from "../src/serve/room.js";
import { accountKeyOf, accountOf } from "../src/serve/snippets.js";
import { load, skip } from "./support/package.js";
import { type ServerProcess, serve } from "./support/server.js";

const folder = mkdtempSync(path.join(os.tmpdir(), "tabstore-serve-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program to its end. */
function run(...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  return spawnSync(process.execPath, [path.resolve("dist/cli.js"), "serve", ...args], { encoding: "utf8", timeout: 30_000 });
}

test("I6: the options have their defaults, and wrong ones are refused by name", () => {
  const { key, ports, host, auth, data } = serveArguments([], {});
  assert.deepEqual(
    [key, ports, host, auth, data],
    [{ id: "testid", secret: "testsecret" }, { tablestore: 7371, azure: 7372, console: 7373 }, "127.0.0.1", "signed", undefined],
  );
  const environment = { TABSTORE_ACCESS_KEY_ID: "id", TABSTORE_ACCESS_KEY_SECRET: "secret" };
  assert.deepEqual(serveArguments([], environment).key, { id: "id", secret: "secret" });
  assert.deepEqual(serveArguments(["--access-key-id", "own", "--access-key-secret", "other"], environment).key, { id: "own", secret: "other" });
  for (const [args, message] of [
    [["--port", "65536"], /--port 65536 is no port/],
    [["--azure-port", "x"], /--azure-port x is no port/],
    [["--console-port", "-1"], /console-port/],
    [["--auth", "on"], /--auth on is unknown/],
    [["--request-timeout", "0"], /--request-timeout 0 is no time/],
    [["--stop-timeout", "86401"], /--stop-timeout 86401 is no time/],
    [["--nothing"], /--nothing/],
    [["--host", "0.0.0.0"], /--host 0\.0\.0\.0 opens the server to other machines.*--allow-host/],
    [["--host", "0.0.0.0", "--allow-host", "db"], /everybody knows the default secret/],
    [["--host", "0.0.0.0", "--allow-host", "db", "--access-key-secret", "testsecret"], /everybody knows the default secret/],
  ] as const) {
    assert.throws(() => serveArguments(args, {}), message, args.join(" "));
  }
  assert.throws(() => serveArguments(["--allow-host", "*"], {}), /--allow-host '\*' opens the server.*everybody knows the default secret/);
  assert.deepEqual(serveArguments(["--allow-host", "*", "--auth", "off"], {}).allowedHosts, ["*"]);
  assert.equal(serveArguments(["--host", "0.0.0.0", "--allow-host", "db", "--access-key-secret", "own"], {}).host, "0.0.0.0");
  for (const own of ["127.0.0.2", "localhost", "::1"]) assert.equal(serveArguments(["--host", own], {}).host, own);
});

test("I6: a request names this server by an address of the loopback interface or by an allowed name, and so does its page", () => {
  const isKnown = hostCheck(["Db.example"]);
  for (const host of ["127.0.0.1", "127.0.0.1:7371", "localhost:1", "LOCALHOST", "[::1]:7371", "demo.table.localhost:7372", "db.example:80", "DB.EXAMPLE"]) {
    assert.ok(isKnown(host), host);
  }
  for (const host of [undefined, "", "evil.example", "evil.example:7371", "127.0.0.1.evil.example", "localhost.evil.example", "x.db.example", "10.0.0.1"]) {
    assert.ok(!isKnown(host), host);
  }
  assert.ok(hostCheck(["*"])("evil.example"));
  const isPage = originCheck(["*", "db.example"]);
  assert.deepEqual([isPage("evil.example"), isPage("db.example:80"), isPage("localhost:1")], [false, true, true], "* is no page");
  for (const origin of [undefined, "http://localhost:5173", "https://127.0.0.1", "http://db.example"]) assert.ok(isKnownOrigin(origin, isKnown), origin);
  for (const origin of ["null", "http://evil.example", "file://", "http://localhost.evil.example", "http://localhost@evil.example"]) {
    assert.ok(!isKnownOrigin(origin, isKnown), origin);
  }
});

test("a room lets in as many as it has places for, and then whoever waits, in their order", async () => {
  const room = new Room(2);
  const order: string[] = [];
  const enter = async (name: string): Promise<{ leave(): void }> => {
    const place = await room.enter();
    order.push(name);
    return place;
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const [a, b] = [await enter("a"), await enter("b")];
  const [third, fourth] = [enter("c"), enter("d")];
  await turn();
  assert.deepEqual(order, ["a", "b"]);
  a.leave();
  a.leave();
  await turn();
  assert.deepEqual(order, ["a", "b", "c"], "a place is given back once, and the last one does not overtake");
  (await third).leave();
  b.leave();
  let isEmpty = false;
  const emptied = room.whenEmpty().then(() => void (isEmpty = true));
  const last = await fourth;
  await turn();
  assert.ok(!isEmpty, "somebody who waited has come in");
  last.leave();
  await emptied;
  await room.whenEmpty();
});

test("a room of bytes counts what has come; once it is full one body goes on, then the next, in their order", () => {
  const room = new ByteRoom(10);
  const order: string[] = [];
  const [a, b, c, d] = [room.begin(), room.begin(), room.begin(), room.begin()];
  const go = (name: string) => (): void => void order.push(name);
  assert.ok(a.mayGrow(go("a")));
  a.add(6);
  assert.ok(b.mayGrow(go("b")));
  b.add(6);
  assert.ok(b.mayGrow(go("b")), "one goes on");
  b.add(20);
  assert.ok(b.mayGrow(go("b")));
  assert.deepEqual([a.mayGrow(go("a")), c.mayGrow(go("c")), d.mayGrow(go("d"))], [false, false, false]);
  c.leave();
  assert.deepEqual(order, [], "b is on its way");
  b.leave();
  b.leave();
  assert.deepEqual(order, ["a", "d"], "there is room for all who are left");
  a.add(9);
  assert.ok(a.mayGrow(go("a")));
  assert.ok(!d.mayGrow(go("d")));
  const e = room.begin();
  assert.ok(!e.mayGrow(go("e")));
  d.add(15);
  a.leave();
  assert.deepEqual(order, ["a", "d", "d"], "it is full, so the next goes on alone");
  d.leave();
  assert.deepEqual(order, ["a", "d", "d", "e"]);
});

test("the account of an instance is a name that the service takes, and its key the base64 of the secret", () => {
  assert.deepEqual([accountOf("Shop-2"), accountOf("a-b"), accountKeyOf("testsecret")], ["shop2", "ab0", "dGVzdHNlY3JldA=="]);
});

/** An answer of a server. */
interface Told {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request. A body of several pieces is sent without its length. */
function ask(address: string, method: string, target: string, headers: Record<string, string> = {}, body: string | Buffer = ""): Promise<Told> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address);
    const request = http.request({ hostname, port, method, path: target, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(pieces) }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

const skipRss = !existsSync("/proc/self/statm") && "no /proc";

/** The memory of a server, in KiB. */
const rss = ({ child }: ServerProcess): number => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]);

/** Opens a connection and writes to it. */
async function raw(address: string, text: string): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(text);
  return socket;
}

/** All that comes on a connection until it ends. */
async function rest(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (data) => (text += data.toString("latin1")));
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

describe("a server in memory", { skip }, () => {
  let server: ServerProcess;
  before(async () => {
    server = await serve(undefined, "--verbose", "--request-timeout", "1");
  });
  after(() => void server.child.kill("SIGKILL"));

  test("tells its addresses, and a snippet for each SDK with them", () => {
    const text = server.lines.join("\n");
    for (const part of [`OTSClient("${server.tablestore}", "testid", "testsecret", "demo")`, `endpoint: "${server.tablestore}"`, `"${server.azure}/demo"`]) {
      assert.ok(text.includes(part), part);
    }
    assert.equal(new Set([server.tablestore, server.azure, server.console]).size, 3);
  });

  test("its health is told at each door, to nobody who comes by another name", async () => {
    for (const address of [server.tablestore, server.azure]) {
      const { status, body, headers } = await ask(address, "GET", "/_health");
      assert.deepEqual([status, String(body), headers["content-type"]], [200, '{"status":"ok"}\n', "application/json"]);
      assert.equal((await ask(address, "HEAD", "/_health")).status, 200);
      assert.notEqual((await ask(address, "POST", "/_health")).status, 200);
      assert.equal((await ask(address, "GET", "/_health", { Host: "evil.example" })).status, 403);
    }
  });

  test("serves the console, where this build of the package has it", async () => {
    const page = await ask(server.console, "GET", "/");
    if (existsSync(path.resolve("dist/console/index.html"))) {
      assert.match(String(page.body), /<!doctype html>/i);
      assert.match(String(page.body), /<meta name="tabstore-server" content="demo">/);
      assert.doesNotMatch(String(page.body), /name="service-worker"/);
    } else assert.equal(page.status, 404);
    assert.match(String((await ask(server.console, "GET", "/service-worker.js")).body), /unregister/);
    assert.equal((await ask(server.console, "GET", "/", { Host: "evil.example" })).status, 403);
    assert.equal((await ask(server.console, "GET", "/nothing")).status, 404);
    assert.equal((await ask(server.console, "POST", "/")).status, 405);
  });

  test("I6: whoever comes by another host or from a foreign page is refused in the form of the door, before anything is done", async () => {
    for (const headers of [{ Host: "evil.example" }, { Origin: "http://evil.example" }, { Origin: "null" }] as Record<string, string>[]) {
      const azure = await ask(server.azure, "GET", "/demo/Tables", headers);
      assert.equal(azure.status, 403);
      assert.equal(JSON.parse(String(azure.body))["odata.error"].code, "AuthorizationFailure");
      const tablestore = await ask(server.tablestore, "POST", "/ListTable", headers);
      assert.equal(tablestore.status, 403);
      assert.match(String(tablestore.body), /^\n\x15OTSNoPermissionAccess\x12/);
      assert.match(tablestore.headers["x-ots-requestid"] as string, /^[\w-]+$/);
    }
    const proxied = await ask(server.azure, "GET", `${server.azure}/demo/Tables`);
    assert.equal(proxied.status, 400);
  });

  test("pages of this machine may ask the door of Table Store, whatever their port", async () => {
    const origin = "http://localhost:5173";
    const names = "x-ots-date,x-ots-signature";
    const asked = { Origin: origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": names };
    const { status, headers } = await ask(server.tablestore, "OPTIONS", "/GetRow", asked);
    assert.deepEqual([status, headers["access-control-allow-origin"], headers["access-control-allow-headers"]], [204, origin, names]);
    const answered = await ask(server.tablestore, "POST", "/ListTable", { Origin: origin });
    assert.deepEqual([answered.status, answered.headers["access-control-allow-origin"], answered.headers.vary], [400, origin, "Origin"]);
    assert.match(String(answered.headers["access-control-expose-headers"]), /x-ots-requestid/);
    const foreign = await ask(server.tablestore, "OPTIONS", "/GetRow", { ...asked, Origin: "http://evil.example" });
    assert.deepEqual([foreign.status, foreign.headers["access-control-allow-origin"]], [403, undefined]);
    assert.equal((await ask(server.tablestore, "POST", "/ListTable")).headers["access-control-allow-origin"], undefined);
  });

  test("Z1, I6: the client of Azure works over HTTP with the account key, and with no other", async () => {
    const client = (secret: string): TableClient =>
      new TableClient(`${server.azure}/demo`, "things", new AzureNamedKeyCredential("demo", accountKeyOf(secret)), { allowInsecureConnection: true });
    const things = client("testsecret");
    await things.createTable();
    await things.createEntity({ partitionKey: "p", rowKey: "r", text: "é€😀", big: 2n ** 60n });
    const { text, big } = await things.getEntity<{ text: string; big: bigint }>("p", "r");
    assert.deepEqual([text, big], ["é€😀", 2n ** 60n]);
    await things.submitTransaction(Array.from({ length: 100 }, (_, n) => ["upsert", { partitionKey: "p", rowKey: String(n), n }]));
    await assert.rejects(client("other").getEntity("p", "r"), { statusCode: 403 });
    await assert.rejects(things.getEntity("p", "missing"), { statusCode: 404 });
  });

  test("R8: a body that is too long is refused, whether its length is told or not, and the connection goes on", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const send = (body: Buffer, isTold: boolean): Promise<number> =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(server.tablestore);
        const headers = isTold ? { "Content-Length": body.length } : { "Transfer-Encoding": "chunked" };
        const request = http.request({ hostname, port, method: "POST", path: "/PutRow", headers, agent }, (response) => {
          response.resume();
          response.on("end", () => resolve(response.statusCode!));
        });
        request.on("error", reject);
        request.end(body);
      });
    const long = Buffer.alloc(5 * 1024 * 1024 + 1);
    assert.deepEqual([await send(long, true), await send(long, false)], [413, 413]);
    const told = await ask(server.tablestore, "POST", "/PutRow", {}, long);
    assert.match(String(told.body), /^\n\x16OTSRequestBodyTooLarge\x12\x23The size of POST data is too large\.$/);
    agent.destroy();
  });

  test("half a request is nothing: it is cut off in time, and its connection is closed", async () => {
    const begun = Date.now();
    const host = "Host: 127.0.0.1\r\n";
    const halves = await Promise.all([
      raw(server.azure, ""),
      raw(server.azure, "POST /demo/Tables HTTP/1.1\r\nHo"),
      raw(server.azure, `POST /demo/Tables HTTP/1.1\r\n${host}Content-Length: 100\r\n\r\nhalf`),
      raw(server.tablestore, `POST /PutRow HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`),
    ]);
    const answers = await Promise.all(halves.map(rest));
    assert.ok(Date.now() - begun < 10_000, "in the time that --request-timeout gives");
    for (const answer of answers.slice(1)) assert.match(answer, /^(?:HTTP\/1\.1 408 |$)/);
    assert.equal((await ask(server.azure, "GET", "/_health")).status, 200);
  });

  test("connections that only say how long their bodies are keep no one waiting", async (t) => {
    const patient = await serve(t, "--request-timeout", "15");
    const host = "Host: 127.0.0.1\r\n";
    const told = `POST /PutRow HTTP/1.1\r\n${host}Content-Length: ${5 * 1024 * 1024}\r\n\r\n`;
    const chunked = `POST /PutRow HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`;
    const sockets = await Promise.all(Array.from({ length: 26 }, (_, n) => raw(patient.tablestore, n % 2 === 0 ? told : chunked)));
    let isCut = false;
    for (const socket of sockets) socket.on("close", () => (isCut = true)).resume();
    await ask(patient.tablestore, "GET", "/_health");
    const { status, body } = await ask(patient.tablestore, "POST", "/ListTable", {}, "x");
    assert.deepEqual([status, String(body).includes("OTSParameterInvalid"), isCut], [400, true, false], "answered while the others have time");
    for (const socket of sockets) socket.destroy();
  });

  test("bodies that never end take no more memory than the server has for them, and those that wait are cut off in time", { skip: skipRss }, async () => {
    const before = rss(server);
    const piece = Buffer.alloc(4 * 1024 * 1024);
    const head = `POST /PutRow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${5 * 1024 * 1024}\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: 120 }, () => raw(server.tablestore, head)));
    for (const socket of sockets) socket.write(piece);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, rss(server))), 20);
    await Promise.all(sockets.map(rest));
    clearInterval(watch);
    assert.ok(most - before < 200 * 1024, `${most - before} KiB more for ${120 * 4} MiB of bodies`);
    assert.equal((await ask(server.tablestore, "POST", "/ListTable", {}, "x")).status, 400, "there is room again, and the door answers");
  });

  test("what is no HTTP, and a client that sends many requests without reading, are cut off", async () => {
    assert.match(await rest(await raw(server.azure, "nonsense\r\n\r\n")), /^HTTP\/1\.1 400 /);
    const large = await raw(server.azure, `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: ${"x".repeat(20_000)}\r\n\r\n`);
    assert.match(await rest(large), /^HTTP\/1\.1 431 /);
    const many = await raw(server.azure, "GET /demo/Tables HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(500));
    const answers = (await rest(many)).split("HTTP/1.1 ").length - 1;
    assert.ok(answers < 500, `${answers} answers`);
    assert.equal((await ask(server.azure, "GET", "/_health")).status, 200);
  });

  test("a request that breaks off is refused in the form of the door: bad HTTP, long headers, and one that is too slow", async () => {
    const host = "Host: 127.0.0.1\r\n";
    const long = `X-Large: ${"x".repeat(20_000)}\r\n`;
    for (const [text, status, ots, azure] of [
      ["nonsense\r\n\r\n", 400, "OTSParameterInvalid", "InvalidInput"],
      [`GET / HTTP/1.1\r\n${host}${long}\r\n`, 431, "OTSParameterInvalid", "InvalidHeaderValue"],
      [`POST /PutRow HTTP/1.1\r\n${host}Content-Length: 100\r\n\r\nhalf`, 408, "OTSRequestTimeout", "OperationTimedOut"],
      ["POST /PutRow HTTP/1.1\r\nHo", 408, "OTSRequestTimeout", "OperationTimedOut"],
    ] as const) {
      const answers = await Promise.all([server.tablestore, server.azure].map(async (address) => rest(await raw(address, text))));
      for (const answer of answers) {
        assert.ok(answer.startsWith(`HTTP/1.1 ${status} `) && answer.includes("\r\nConnection: close\r\n"), answer);
        const [head, body] = answer.split("\r\n\r\n");
        assert.equal(/Content-Length: (\d+)/.exec(head!)?.[1], String(body!.length));
      }
      assert.match(answers[0]!, /\r\nx-ots-requestid: [\w-]+\r\n/);
      assert.ok(answers[0]!.includes(`\r\n\r\n\n${String.fromCharCode(ots.length)}${ots}\x12`), answers[0]);
      assert.equal(JSON.parse(answers[1]!.split("\r\n\r\n")[1]!)["odata.error"].code, azure);
    }
  });

  test("--verbose tells each request in a line, without its query and without what a terminal would obey", async () => {
    await ask(server.azure, "GET", "/demo/verbose()?sig=hidden");
    await rest(await raw(server.azure, "GET /\x1b[31m HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"));
    const line = server.lines.find((one) => one.includes("verbose()"));
    assert.match(line ?? "", /^\d{4}-\d\d-\d\dT[\d:.]+Z azure 127\.0\.0\.1 GET \/demo\/verbose\(\) 403 [\d.]+ ms$/);
    assert.ok(!server.lines.some((one) => one.includes("hidden") || one.includes("\x1b")));
  });
});

test("a server that cannot start says why: wrong options with code 2, a taken port and a wrong instance with code 1", { skip }, async (t) => {
  const wrong = run("--port", "x");
  assert.deepEqual([wrong.status, /--port x is no port.*\nUsage: tabstore serve /.test(wrong.stderr)], [2, true]);
  assert.match(run("--help").stdout, /^Usage: tabstore serve /);
  const taken = createServer();
  t.after(() => taken.close());
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  const busy = run("--port", "0", "--azure-port", String(port), "--console-port", "0");
  assert.deepEqual([busy.status, busy.stderr.includes(`The port ${port} of 127.0.0.1 is taken`)], [1, true]);
  const named = run("--instance", "-", "--port", "0", "--azure-port", "0", "--console-port", "0");
  assert.equal(named.status, 1);
  assert.match(named.stderr, /OTSParameterInvalid/);
});

test("I6: --auth off lets every request pass, but not from foreign pages", { skip }, async (t) => {
  const server = await serve(t, "--auth", "off");
  const json = { Accept: "application/json;odata=nometadata" };
  assert.equal((await ask(server.azure, "GET", "/demo/Tables", json)).status, 200);
  assert.equal((await ask(server.azure, "GET", "/demo/Tables", { ...json, Origin: "http://localhost:5173" })).status, 200);
  assert.equal((await ask(server.azure, "GET", "/demo/Tables", { ...json, Origin: "http://evil.example" })).status, 403);
  assert.equal(await server.end("SIGINT"), 0);
});

test("I6: the instance keeps the access key of the server, with its rights, and another secret is refused", { skip }, async (t) => {
  const data = path.join(folder, "keys");
  const first = await serve(t, "--data", data, "--access-key-id", "own.id", "--access-key-secret", "own/secret");
  assert.ok(!first.lines.some((line) => line.includes("own/secret")), "terminals are kept in logs");
  assert.equal(await first.end(), 0);
  const { open } = await load();
  const db = await open("demo", { storage: "files", path: data });
  const [key] = await db.listAccessKeys();
  assert.deepEqual([key?.accessKeyId, key?.rights], ["own.id", ["read", "write", "admin"]]);
  await db.updateAccessKey({ accessKeyId: "own.id", rights: ["read"] });
  await db.close();
  const options = ["--data", data, "--access-key-id", "own.id", "--port", "0", "--azure-port", "0", "--console-port", "0"];
  const refused = run(...options, "--access-key-secret", "another");
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /access key own\.id with another secret/);
  assert.ok(!refused.stderr.includes("another\n"), "the secret is not told");
  const again = await serve(t, ...options, "--access-key-secret", "own/secret");
  const client = new TableClient(`${again.azure}/demo`, "things", new AzureNamedKeyCredential("demo", accountKeyOf("own/secret")), {
    allowInsecureConnection: true,
  });
  await assert.rejects(client.createTable(), { statusCode: 403 });
  assert.equal(await again.end(), 0);
});

test("I6: an instance with a key of the default secret is not opened to other machines, until the key is disabled", { skip }, async (t) => {
  const data = path.join(folder, "known");
  const first = await serve(t, "--data", data);
  assert.equal(await first.end(), 0);
  const own = ["--data", data, "--access-key-id", "own.id", "--access-key-secret", "own/secret", "--port", "0", "--azure-port", "0", "--console-port", "0"];
  const open = [...own, "--host", "0.0.0.0", "--allow-host", "db"];
  const refused = run(...open);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /instance demo has the default secret.*updateAccessKey\(\{ accessKeyId: "testid", enabled: false \}\)/s);
  const { open: opened } = await load();
  const keysOf = async (act?: (db: Awaited<ReturnType<typeof opened>>) => Promise<unknown>): Promise<string[]> => {
    const db = await opened("demo", { storage: "files", path: data });
    await act?.(db);
    const ids = (await db.listAccessKeys()).map(({ accessKeyId }) => accessKeyId);
    await db.close();
    return ids;
  };
  assert.deepEqual(await keysOf(), ["testid"], "a server that does not start stores no key");
  const local = await serve(t, ...own);
  assert.equal(await local.end(), 0, "this machine alone may have it");
  // It counts under any id.
  const other = { rights: ["read"], accessKeyId: "other", accessKeySecret: "testsecret" } as const;
  await keysOf(async (db) => {
    await db.updateAccessKey({ accessKeyId: "testid", enabled: false });
    await db.createAccessKey(other);
  });
  assert.equal(run(...open).status, 1);
  assert.match(run(...own, "--allow-host", "*").stderr, /has the default secret/, "whatever the address is");
  await keysOf((db) => db.deleteAccessKey("other"));
  const last = await serve(t, ...open, "--allow-host", "*");
  const [azure, tablestore] = [last.azure, last.tablestore].map((address) => address.replace("0.0.0.0", "127.0.0.1"));
  for (const origin of ["http://evil.example", "null"]) {
    const foreign = { Host: "any.example", Origin: origin };
    assert.equal((await ask(azure!, "GET", "/_health", foreign)).status, 403, "any host is not any page");
    assert.equal((await ask(tablestore!, "OPTIONS", "/GetRow", foreign)).headers["access-control-allow-origin"], undefined);
  }
  assert.equal((await ask(azure!, "GET", "/_health", { Host: "any.example" })).status, 200);
  assert.equal((await ask(azure!, "GET", "/_health", { Host: "any.example", Origin: "http://db" })).status, 200);
  assert.equal(await last.end(), 0);
});

test("R4: SIGTERM lets the calls in flight end, refuses new ones, and closes the instance", { skip }, async (t) => {
  const data = path.join(folder, "stopped");
  const server = await serve(t, "--data", data, "--auth", "off");
  const headers = { Accept: "application/json;odata=nometadata", "Content-Type": "application/json" };
  const insert = (table: string, entity: object): Promise<number> =>
    ask(server.azure, "POST", `/demo/${table}`, headers, JSON.stringify(entity)).then(
      ({ status }) => status,
      () => 0,
    );
  assert.equal(await insert("Tables", { TableName: "things" }), 201);
  // Half a request does not keep it from ending.
  await raw(server.azure, "POST /demo/things HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n");
  const statuses = Array.from({ length: 150 }, (_, n) => insert("things", { PartitionKey: "p", RowKey: String(n), Text: "x".repeat(1000) }));
  await statuses[20];
  assert.equal(await server.end(), 0);
  const done = await Promise.all(statuses);
  assert.ok(
    done.every((status) => status === 201 || status === 0),
    String(new Set(done)),
  );
  await assert.rejects(ask(server.azure, "GET", "/_health"));
  const again = await serve(t, "--data", data, "--auth", "off");
  for (const [n, status] of done.entries()) {
    if (status !== 201) continue;
    const found = await ask(again.azure, "GET", `/demo/things(PartitionKey='p',RowKey='${n}')`, headers);
    assert.equal(found.status, 200, `row ${n}`);
  }
  assert.equal(await again.end(), 0);
});
