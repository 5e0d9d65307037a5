/** The way to the service: errors, retries, times, signals, signatures of answers, credentials and endpoints. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect, type ConnectOptions, TabStoreError } from "../src/cloud/index.js";
import * as m from "../src/cloud/messages.js";
import { writeRow } from "../src/cloud/plain-buffer.js";
import { encode } from "../src/cloud/protobuf.js";
import { Retry } from "../src/cloud/retry.js";
import type { Database } from "../src/index.js";
import { code } from "./support/package.js";
import { answer, answered, ENDPOINT, SIGNER } from "./support/service.js";

const primaryKey = { id: 1 };
const get = (db: Database, signal?: AbortSignal) => db.getRow({ tableName: "t", primaryKey, signal });
const put = (db: Database, signal?: AbortSignal) => db.putRow({ tableName: "t", primaryKey, signal });
const KEYS = { meta: { columns: [{ name: "id" }] } };
const ROW = { consumed: { units: { read: 1, write: 0 } }, row: writeRow([{ name: "id", variant: { type: 0, value: 1 } }]) };

/** What is answered to a request: a response, or what is thrown. */
type Answering = (path: string, init: RequestInit) => Promise<Response>;

const failing =
  (status: number, code: string, message = "why"): Answering =>
  (path) =>
    answer(path, status, encode(m.ServiceError, { code, message }), SIGNER, "2026");
const done: Answering = (path) => answered(path, m.RowAnswer, ROW);

/** A connection whose requests about rows get these answers, the last one again and again; and the requests. */
async function with_(answers: readonly Answering[], options: ConnectOptions = {}, endpoint = ENDPOINT) {
  const asked: { readonly url: string; readonly init: RequestInit }[] = [];
  let next = 0;
  const db = await connect(endpoint, SIGNER, {
    retry: { minDelay: 0, maxDelay: 0 },
    fetch: async (url, init) => {
      const path = `/${url.split("/").at(-1)}`;
      if (path === "/DescribeTable") return answered(path, m.KeyColumns, KEYS);
      asked.push({ url, init });
      return answers[Math.min(next++, answers.length - 1)]!(path, init);
    },
    ...options,
  });
  return { db, asked };
}

test("an error of the service has its code, status and words, and the id of the request", async () => {
  const { db } = await with_([failing(403, "OTSConditionCheckFail", "Condition check failed.")]);
  await assert.rejects(put(db), (error) => {
    assert.ok(error instanceof TabStoreError);
    const { code, status, message, requestId, retryable } = error;
    assert.deepEqual(
      { code, status, message, requestId, retryable },
      { code: "OTSConditionCheckFail", status: 403, message: "Condition check failed.", requestId: "0005-req", retryable: false },
    );
    return true;
  });
});

test("what the service refused with nothing stored is tried again, reads and writes", async () => {
  for (const [status, refused] of [
    [409, "OTSRowOperationConflict"],
    [403, "OTSNotEnoughCapacityUnit"],
    [404, "OTSTableNotReady"],
    [503, "OTSPartitionUnavailable"],
    [503, "OTSServerBusy"],
    [503, "OTSOperationThrottled"],
  ] as const) {
    for (const call of [get, put]) {
      const { db, asked } = await with_([failing(status, refused), failing(status, refused), done]);
      await call(db);
      assert.equal(asked.length, 3, refused);
    }
  }
  const { db, asked } = await with_([failing(403, "OTSQuotaExhausted", "Too frequent table operations."), done]);
  await put(db);
  assert.equal(asked.length, 2);
});

test("a call with an unknown outcome is tried again if it is a read, and not if it is a write", async () => {
  const lost: Answering = () => Promise.reject(new TypeError("fetch failed"));
  const html: Answering = async () => new Response("<html>", { status: 502 });
  const broken: Answering = async (path) => {
    const response = await answered(path, m.RowAnswer, ROW);
    return new Response(
      new Uint8Array(await response.arrayBuffer()).map((byte) => byte ^ 1),
      { headers: response.headers },
    );
  };
  const cases: [Answering, string][] = [
    [failing(503, "OTSTimeout"), "OTSTimeout"],
    [failing(500, "OTSInternalServerError"), "OTSInternalServerError"],
    [failing(503, "OTSServerUnavailable"), "OTSServerUnavailable"],
    [failing(500, "OTSSomethingNew"), "OTSSomethingNew"],
    [lost, "Unavailable"],
    [html, "Unavailable"],
    [broken, "OTSInternalServerError"],
  ];
  for (const [first, refused] of cases) {
    const read = await with_([first, done]);
    assert.equal((await get(read.db)).row?.get("id"), 1);
    assert.equal(read.asked.length, 2, refused);
    const write = await with_([first, done]);
    await assert.rejects(put(write.db), { code: refused, retryable: false });
    assert.equal(write.asked.length, 1, refused);
    if (first === lost) await assert.rejects(put((await with_([first])).db), (error) => (error as Error).cause instanceof TypeError);
    const once = await with_([first], { retry: false });
    await assert.rejects(get(once.db), { code: refused, retryable: true });
  }
  // The message is whole, and its row is not: the write was done.
  const { db } = await with_([(path) => answered(path, m.RowAnswer, { ...ROW, row: ROW.row.map((byte, i) => (i === 9 ? byte ^ 1 : byte)) })]);
  await assert.rejects(put(db), { code: "OTSInternalServerError", retryable: false });
  // What was refused may be called again, also a write.
  const busy = await with_([failing(503, "OTSServerBusy")], { retry: false });
  await assert.rejects(put(busy.db), { code: "OTSServerBusy", retryable: true });
  for (const never of [failing(400, "OTSParameterInvalid"), failing(403, "OTSQuotaExhausted", "Number of tables exceeds the quota:64.")]) {
    const { db, asked } = await with_([never, done]);
    await assert.rejects(get(db));
    assert.equal(asked.length, 1);
  }
});

test("a call is tried 21 times by default, as by the official SDKs, and the last error is given", async () => {
  const { db, asked } = await with_([failing(503, "OTSServerBusy")]);
  await assert.rejects(put(db), code("OTSServerBusy"));
  assert.equal(asked.length, 21);
  const few = await with_([failing(503, "OTSServerBusy")], { retry: { attempts: 2, minDelay: 0 } });
  await assert.rejects(put(few.db), code("OTSServerBusy"));
  assert.equal(few.asked.length, 2);
  const none = await with_([failing(503, "OTSServerBusy"), done], { retry: false });
  await assert.rejects(get(none.db), code("OTSServerBusy"));
  assert.equal(none.asked.length, 1);
});

test("waits double up to 3 s, longer at first where the service is throttling, and half of them is random", () => {
  const retry = new Retry(undefined);
  const of = (refused: string, tries: number) => retry.delay(new TabStoreError({ code: refused, status: 503, retryable: true, message: "" }), tries, true);
  for (const [refused, first] of [
    ["OTSRowOperationConflict", 200],
    ["OTSServerBusy", 500],
    ["OTSNotEnoughCapacityUnit", 500],
    ["Unavailable", 200],
  ] as const) {
    for (let tries = 1; tries <= 20; tries++) {
      const longest = Math.min(3000, first * 2 ** (tries - 1));
      const delay = of(refused, tries)!;
      assert.ok(delay >= longest / 2 && delay <= longest, `${refused} ${tries}: ${delay}`);
    }
    assert.equal(of(refused, 21), undefined);
  }
});

test("rows of a batch that were refused for now are written again, the others once, and results keep their places", async () => {
  const units = { units: { read: 0, write: 1 } };
  const ok = { isOk: true, consumed: units };
  const refused = (refusal: string) => ({ isOk: false, error: { code: refusal, message: "why" } });
  const rows: (readonly object[])[] = [[ok, refused("OTSRowOperationConflict"), refused("OTSConditionCheckFail")], [refused("OTSServerBusy")], [ok]];
  const { db, asked } = await with_(rows.map((row) => (path) => answered(path, m.BatchAnswer, { tables: [{ tableName: "t", rows: row as never }] })));
  const results = await db.batchWriteRow([1, 2, 3].map((id) => ({ tableName: "t", put: { primaryKey: { id } } })));
  assert.deepEqual(
    results.map(({ ok, error }) => [ok, error?.code, error?.status]),
    [
      [true, undefined, undefined],
      [true, undefined, undefined],
      [false, "OTSConditionCheckFail", 403],
    ],
  );
  assert.equal(asked.length, 3);
});

test("a try that takes longer than the timeout is given up, and so is one whose body never ends", async () => {
  const silent: Answering = (_path, { signal }) => new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  const { db, asked } = await with_([silent, done], { timeout: 20 });
  assert.equal((await get(db)).row?.get("id"), 1);
  assert.equal(asked.length, 2);
  const write = await with_([silent], { timeout: 20 });
  await assert.rejects(put(write.db), code("Unavailable", /did not answer PutRow within 20 ms\. It is unknown whether/));
  const endless: Answering = async (_path, { signal }) =>
    new Response(new ReadableStream({ start: (controller) => signal!.addEventListener("abort", () => controller.error(signal!.reason)) }));
  const body = await with_([endless], { timeout: 20, retry: false });
  await assert.rejects(get(body.db), code("Unavailable", /did not answer GetRow within 20 ms\.$/));
});

test("a signal cancels a call with its reason: before it, under way, and between two tries", async () => {
  const reason = new Error("enough");
  const { db, asked } = await with_([done]);
  await assert.rejects(get(db, AbortSignal.abort(reason)), (error) => error === reason);
  assert.equal(asked.length, 0);

  const control = new AbortController();
  let aborted = false;
  const silent: Answering = (_path, { signal }) =>
    new Promise((_, reject) => {
      signal!.addEventListener("abort", () => {
        aborted = true;
        reject(signal!.reason);
      });
      control.abort(reason);
    });
  const slow = await with_([silent]);
  await assert.rejects(get(slow.db, control.signal), (error) => error === reason);
  assert.ok(aborted, "the request itself is aborted");

  const waiting = new AbortController();
  const busy = await with_([failing(503, "OTSServerBusy")], { retry: { minDelay: 60_000, maxDelay: 60_000 } });
  const call = put(busy.db, waiting.signal);
  while (busy.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  setTimeout(() => waiting.abort(reason), 20);
  await assert.rejects(call, (error) => error === reason);
  assert.equal(busy.asked.length, 1);
});

test("a signal that aborts while the request is signed keeps it from being sent", async () => {
  const reason = new Error("enough");
  const sent: string[] = [];
  let control: AbortController | undefined;
  const credentials = async () => {
    const now = control;
    // A signature takes more turns than these, the credentials fewer.
    void (async () => {
      for (let turn = 0; turn < 5; turn++) await undefined;
      now?.abort(reason);
    })();
    return SIGNER;
  };
  const fetch = async (url: string): Promise<Response> => {
    const path = `/${url.split("/").at(-1)}`;
    sent.push(path);
    return path === "/DescribeTable" ? answered(path, m.KeyColumns, KEYS) : answered(path, m.RowAnswer, ROW);
  };
  const db = await connect(ENDPOINT, credentials, { fetch });
  await get(db);
  assert.deepEqual(sent.splice(0), ["/DescribeTable", "/GetRow"]);
  control = new AbortController();
  await assert.rejects(put(db, control.signal), (error) => error === reason);
  // Time enough to sign and send.
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(sent, []);
  await db.close();
});

test("operations on one row keep their call order, reads of it run together, and other rows do not wait", async () => {
  const order: string[] = [];
  const releases: (() => void)[] = [];
  const held: Answering = async (path) => {
    order.push(path);
    await new Promise<void>((resolve) => releases.push(resolve));
    return answered(path, m.RowAnswer, ROW);
  };
  const { db } = await with_([held]);
  // Waits for so many requests; more would come at once too.
  const turn = async (requests: number) => {
    while (order.length < requests) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const calls = [put(db), get(db), get(db), db.deleteRow({ tableName: "t", primaryKey }), db.putRow({ tableName: "t", primaryKey: { id: 2 } })];
  await turn(2);
  assert.deepEqual(order.splice(0), ["/PutRow", "/PutRow"]);
  for (const release of releases.splice(0)) release();
  await turn(2);
  assert.deepEqual(order.splice(0), ["/GetRow", "/GetRow"]);
  for (const release of releases.splice(0)) release();
  await turn(1);
  assert.deepEqual(order.splice(0), ["/DeleteRow"]);
  for (const release of releases.splice(0)) release();
  await Promise.all(calls);
});

test("a row waits for one whose call failed, and then goes on", async () => {
  const { db } = await with_([failing(400, "OTSParameterInvalid"), done]);
  const first = put(db);
  const second = get(db);
  await assert.rejects(first, code("OTSParameterInvalid"));
  assert.equal((await second).row?.get("id"), 1);
});

test("the key of a table is asked for once, and again after it has changed", async () => {
  let described = 0;
  let columns = ["a", "b"];
  const keys: string[] = [];
  const db = await connect(ENDPOINT, SIGNER, {
    retry: false,
    fetch: async (url, { body }) => {
      const path = new URL(url).pathname;
      if (path === "/DescribeTable") {
        described += 1;
        return answered(path, m.KeyColumns, { meta: { columns: columns.map((name) => ({ name })) } });
      }
      const text = Buffer.from(body as Uint8Array).toString("latin1");
      const given = text.indexOf("a\x05") < text.indexOf("b\x05") ? "ab" : "ba";
      keys.push(given);
      return given === columns.join("")
        ? answered(path, m.RowAnswer, ROW)
        : failing(400, "OTSInvalidPK", "Validate PK name fail. Input: a, Meta: b.")(path, {});
    },
  });
  const row = { tableName: "t", primaryKey: { b: 1, a: 2 } };
  await Promise.all([db.getRow(row), db.getRow(row)]);
  await db.getRow(row);
  assert.deepEqual([described, keys], [1, ["ab", "ab", "ab"]]);
  // Somebody else has made the table anew.
  columns = ["b", "a"];
  await db.getRow(row);
  assert.deepEqual([described, keys.slice(3)], [2, ["ab", "ba"]]);
  columns = ["a", "c"];
  await assert.rejects(db.getRow(row), code("OTSInvalidPK"));
});

test("without the right to describe a table its keys are sent as they are given", async () => {
  const bodies: string[] = [];
  const db = await connect(ENDPOINT, SIGNER, {
    retry: false,
    fetch: async (url, { body }) => {
      const path = new URL(url).pathname;
      if (path === "/DescribeTable") return failing(403, "OTSNoPermissionAccess")(path, {});
      bodies.push(Buffer.from(body as Uint8Array).toString("latin1"));
      return answered(path, m.RowAnswer, ROW);
    },
  });
  await db.getRow({ tableName: "t", primaryKey: { zz: 1, aa: 2 } });
  assert.ok(bodies[0]!.indexOf("zz") < bodies[0]!.indexOf("aa"));
  await assert.rejects(db.getRange({ tableName: "t" }), code("OTSNoPermissionAccess"));
});

test("I6: answers with a wrong signature or MD5 are refused, and those without one where they are demanded", async () => {
  const changed =
    (name: string, value: string | undefined): Answering =>
    async (path) => {
      const response = await answered(path, m.RowAnswer, ROW);
      if (value === undefined) response.headers.delete(name);
      else response.headers.set(name, value);
      return response;
    };
  const off = { retry: false } as const;
  for (const [name, value] of [
    ["authorization", "OTS testid:AAAA"],
    ["x-ots-requestid", "another"],
    ["x-ots-contentmd5", "1B2M2Y8AsgTpgAmY7PhCfg=="],
  ] as const) {
    const { db } = await with_([changed(name, value)], off);
    await assert.rejects(get(db), code("OTSInternalServerError", /damaged/), name);
    assert.ok((await get((await with_([changed(name, value)], { ...off, verify: "never" })).db)).row);
  }
  for (const name of ["authorization", "x-ots-contentmd5", "x-ots-date", "x-ots-requestid", "x-ots-contenttype"]) {
    assert.ok((await get((await with_([changed(name, undefined)], off)).db)).row, name);
    const { db } = await with_([changed(name, undefined)], { ...off, verify: "always" });
    await assert.rejects(get(db), code("OTSInternalServerError", new RegExp(`the header ${name} is missing`)));
  }
  // Who is not known has no key for a signature.
  const stranger: Answering = (path) =>
    answer(path, 403, encode(m.ServiceError, { code: "OTSAuthFailed", message: "Signature mismatch." }), { ...SIGNER, accessKeySecret: "other" }, "2026");
  await assert.rejects(get((await with_([stranger], off)).db), code("OTSAuthFailed", /Signature mismatch/));
});

test("I6: credentials may be a function, which gives a token and is asked for each request", async () => {
  let calls = 0;
  const headers: Record<string, string>[] = [];
  const credentials = async () => ({ ...SIGNER, stsToken: `token${++calls}` });
  const db = await connect(ENDPOINT, credentials, {
    region: "cn-hangzhou",
    fetch: async (url, init) => {
      headers.push(init.headers as Record<string, string>);
      const path = new URL(url).pathname;
      return path === "/DescribeTable" ? answered(path, m.KeyColumns, KEYS) : new Response(encode(m.RowAnswer, ROW));
    },
    verify: "never",
  });
  await get(db);
  await get(db);
  assert.deepEqual(
    headers.map((one) => one["x-ots-ststoken"]),
    ["token1", "token2", "token3"],
  );
  assert.ok(
    headers.every((one) => one["x-ots-signaturev4"] !== undefined && one["x-ots-signregion"] === "cn-hangzhou" && one["x-ots-signature"] === undefined),
  );
  const wrong = await connect(ENDPOINT, () => ({ accessKeyId: "a" }) as never, { fetch: () => assert.fail() });
  await assert.rejects(get(wrong), code("OTSParameterInvalid", /credentials\.accessKeySecret/));
  const thrown = new Error("no token");
  await assert.rejects(get(await connect(ENDPOINT, () => Promise.reject(thrown), { fetch: () => assert.fail() })), (error) => error === thrown);
});

test("an endpoint names the instance by its host, or the option does; a path stays before the operation and is not signed", async () => {
  const asked = async (endpoint: string, options: ConnectOptions = {}) => {
    const { db, asked } = await with_([done], options, endpoint);
    await get(db);
    const { url, init } = asked[0]!;
    assert.equal(db.name, (init.headers as Record<string, string>)["x-ots-instancename"]);
    return [url, db.name];
  };
  assert.deepEqual(await asked("https://demo.cn-hangzhou.ots.aliyuncs.com/"), ["https://demo.cn-hangzhou.ots.aliyuncs.com/GetRow", "demo"]);
  assert.deepEqual(await asked("https://demo.cn-hangzhou.vpc.tablestore.aliyuncs.com", { instanceName: "other" }), [
    "https://demo.cn-hangzhou.vpc.tablestore.aliyuncs.com/GetRow",
    "other",
  ]);
  assert.deepEqual(await asked("http://127.0.0.1:8080/ots/", { instanceName: "demo" }), ["http://127.0.0.1:8080/ots/GetRow", "demo"]);
  for (const endpoint of ["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:8080"])
    await assert.rejects(connect(endpoint, SIGNER), code("OTSParameterInvalid", /'instanceName' is missing/), endpoint);
  for (const endpoint of ["demo", "ftp://demo.a.b", "https://demo.a.b?x=1", "https://me@demo.a.b", 5, undefined])
    await assert.rejects(connect(endpoint as string, SIGNER), code("OTSParameterInvalid", /'endpoint'/), String(endpoint));
});

test("wrong options of a connection are refused by name", async () => {
  const cases: [unknown, object | undefined, RegExp][] = [
    [{}, {}, /credentials\.accessKeyId/],
    [null, {}, /'credentials'/],
    [{ ...SIGNER, secret: 1 }, {}, /Unknown argument 'secret'/],
    [{ ...SIGNER, stsToken: 1 }, {}, /credentials\.stsToken/],
    [SIGNER, { storage: "memory" }, /Unknown argument 'storage'/],
    [SIGNER, { timeout: 0 }, /'timeout'/],
    [SIGNER, { fetch: 5 }, /'fetch'/],
    [SIGNER, { verify: "maybe" }, /'verify'/],
    [SIGNER, { integers: "number" }, /'integers'/],
    [SIGNER, { region: 5 }, /'region'/],
    [SIGNER, { instanceName: 5 }, /'instanceName'/],
    [SIGNER, { pollInterval: -1 }, /'pollInterval'/],
    [SIGNER, { retry: { attempts: 0 } }, /'retry\.attempts'/],
    [SIGNER, { retry: { tries: 1 } }, /Unknown argument 'tries'/],
  ];
  for (const [credentials, options, message] of cases)
    await assert.rejects(connect(ENDPOINT, credentials as never, options as never), code("OTSParameterInvalid", message), String(message));
  const reason = new Error("enough");
  await assert.rejects(connect(ENDPOINT, SIGNER, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
});

test("an answer in a form that was not asked for is refused", async () => {
  const range =
    (fields: object): Answering =>
    (path) =>
      answered(path, m.RangeAnswer, { rows: new Uint8Array(0), ...fields });
  const matrix = await with_([range({ blockType: 1 })], { retry: false });
  await assert.rejects(matrix.db.getRange({ tableName: "t" }), code("OTSInternalServerError", /packed in the way 1/));
  const short: Answering = (path) => answered(path, m.BatchAnswer, { tables: [{ tableName: "t", rows: [] }] });
  const batch = await with_([short], { retry: false });
  await assert.rejects(batch.db.batchGetRow([{ tableName: "t", primaryKeys: [primaryKey] }]), code("OTSInternalServerError", /0 results for 1 keys/));
  await assert.rejects(batch.db.batchWriteRow([{ tableName: "t", put: { primaryKey } }]), code("OTSInternalServerError", /0 results for 1 rows/));
});
