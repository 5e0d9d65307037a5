// Other tabs: one leads, the others follow. Every kind of call from a follower, options, and refusals.

import assert from "node:assert/strict";

import { openPage } from "../support/browser.mjs";
import { singles, test } from "../support/harness.mjs";
import { open, tabs, WAYS } from "../support/tabs.mjs";

for (const [[way, prepare], worker] of singles(WAYS, [true, false])) {
  test(`followers: every kind of call from another tab (${worker ? "worker" : "in the page"}, ${way})`, async (t) => {
    const { one, two } = await tabs(t, { options: { worker }, prepare });
    const seen = await two.evaluate(async () => {
      const key = (n) => ({ tableName: "t", primaryKey: { k: "a", n } });
      const seen = {};
      await db.putRow({ ...key(1), attributes: { v: 1 } });
      await db.updateRow({ ...key(1), increment: { v: 2 } });
      seen.get = (await db.getRow(key(1))).row.get("v");
      seen.batch = (
        await db.batchWriteRow([
          { tableName: "t", put: { primaryKey: { k: "a", n: 2 } } },
          { tableName: "t", put: { primaryKey: { k: "a", n: 3 } } },
        ])
      ).map(({ ok }) => ok);
      seen.atomic = (await db.batchWriteRow([{ tableName: "t", put: { primaryKey: { k: "a", n: 4 } } }], { atomic: true })).map(({ ok }) => ok);
      seen.gets = (
        await db.batchGetRow([
          {
            tableName: "t",
            primaryKeys: [
              { k: "a", n: 2 },
              { k: "a", n: 9 },
            ],
          },
        ])
      )[0].map(({ row }) => row !== null);
      await db.deleteRow(key(4));
      seen.refused = (await H.refusal(() => db.putRow({ ...key(1), condition: { rowExistence: "EXPECT_NOT_EXIST" } }))).code;
      const writer = db.writer("t");
      for (let n = 0; n < 20_000; n++) {
        const wait = writer.put({ primaryKey: { k: "w", n }, attributes: { text: H.noise(n, 50) } });
        if (wait) await wait;
      }
      seen.written = (await writer.close()).rows;
      seen.imported = (await db.importRows("t", new Blob(["k,n,x\ni,1,2\ni,2,3\n"], { type: "text/csv" }), { format: "csv" })).rows;
      seen.scanned = 0;
      for await (const row of db.scan({ tableName: "t", start: { k: "w", n: T.INF_MIN }, end: { k: "w", n: T.INF_MAX } }))
        seen.scanned += row.get("text").length === 50 ? 1 : 0;
      seen.page = (await db.getRange({ tableName: "t", limit: 2 })).rows.length;
      seen.count = (await db.count({ tableName: "t" })).count;
      const tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { k: "a" } });
      await tx.putRow({ ...key(7), attributes: { v: 7 } });
      seen.hidden = (await db.getRow(key(7))).row === null;
      await tx.commit();
      seen.committed = (await db.getRow(key(7))).row.get("v");
      const undone = await db.startLocalTransaction({ tableName: "t", partitionKey: { k: "a" } });
      await undone.putRow(key(8));
      await undone.abort();
      seen.aborted = (await db.getRow(key(8))).row === null;
      await db.createTable({ tableName: "made", primaryKey: [{ name: "id", type: "INTEGER" }] });
      seen.tables = await db.listTable();
      seen.described = (await db.describeTable("made")).primaryKey[0].type;
      await db.updateTable({ tableName: "made", maxVersions: 3 });
      await db.deleteTable("made");
      seen.missingTable = (await H.refusal(() => db.describeTable("made"))).code;
      await db.flush();
      await db.compact();
      seen.kind = (await db.metrics()).kind;
      seen.split = (await db.computeSplitPointsBySize({ tableName: "t", splitSize: 1, splitSizeUnitBytes: 1024 * 1024 })).splits.length > 0;
      seen.damaged = 0;
      for await (const _ of db.verify({ texts: true })) seen.damaged += 1;
      const { trees } = await db.segments({ tableName: "t", details: true });
      const [part] = trees[0].segments;
      seen.inside = [trees[0].tableName, part.level > 0, part.newestSeqno > 0, (await db.segment(part.segmentId)).blocks.length === part.blocks];
      const traced = await db.getRow({ ...key(1), trace: true });
      seen.traced = [traced.row.get("v"), traced.trace.steps.some(({ verdict }) => verdict === "found")];
      seen.stored = (await db.getStoredRow(key(1))).versions.v.map(({ hidden }) => hidden);
      const { position } = await db.getWorkEvents();
      const next = db.workEvents({ position }).next();
      await db.putRow({ ...key(1), attributes: { v: 3 } });
      await db.flush();
      seen.event = (await next).value.type;
      seen.pause = (await H.refusal(() => db.pauseWork())).code;
      const control = new AbortController();
      const given = H.refusal(() => db.getRange({ tableName: "t", signal: control.signal }));
      control.abort(new Error("enough"));
      seen.given = (await given).message;
      return seen;
    });
    assert.deepEqual(seen, {
      get: 3,
      batch: [true, true],
      atomic: [true],
      gets: [true, false],
      refused: "OTSConditionCheckFail",
      written: 20_000,
      imported: 2,
      scanned: 20_000,
      page: 2,
      count: 20_005,
      hidden: true,
      committed: 7,
      aborted: true,
      tables: ["made", "t"],
      described: "INTEGER",
      missingTable: "OTSObjectNotExist",
      kind: "high-performance",
      split: true,
      damaged: 0,
      inside: ["t", true, true, true],
      traced: [3, true],
      stored: [null],
      event: "flush",
      pause: "OTSParameterInvalid",
      given: "enough",
    });
    // R5: what a follower wrote, the leader sees, and the other way round.
    assert.equal(await one.evaluate(async () => (await db.count({ tableName: "t" })).count), 20_006);
    await one.evaluate(() => db.putRow({ tableName: "t", primaryKey: { k: "a", n: 50 } }));
    assert.equal(await two.evaluate(async () => (await db.getRow({ tableName: "t", primaryKey: { k: "a", n: 50 } })).row.primaryKey.n), 50);
    const took = await two.evaluate(async () => {
      const started = performance.now();
      for (let i = 0; i < 300; i++) await db.getRow({ tableName: "t", primaryKey: { k: "a", n: 50 } });
      return (performance.now() - started) / 300;
    });
    t.note(`a read from a follower takes ${(took * 1000).toFixed(0)} us`);
    await two.evaluate(() => db.close());
    await one.evaluate(() => db.close());
  });
}

test("followers: options of the engine are compared with the leader's; those of the caller are its own", async (t) => {
  const { two } = await tabs(t, { options: { durability: "strict" } });
  const seen = await two.evaluate(async () => {
    await db.close();
    const codes = {};
    for (const [name, options] of Object.entries({
      durability: { durability: "relaxed" },
      cache: { cacheBytes: 1024 },
      kind: { kind: "capacity" },
      clock: { clock: { now: 5 } },
      ownClock: { clock: () => 5, worker: false },
      salvage: { salvage: true },
      limits: { limits: "sdk" },
    }))
      codes[name] = await H.refusal(() => T.open("shared", options));
    const db2 = await T.open("shared", { durability: "strict", cacheBytes: 32 * 1024 * 1024, integers: "bigint", worker: false, retry: false, create: false });
    await db2.putRow({ tableName: "t", primaryKey: { k: "a", n: 1 } });
    const { row } = await db2.getRow({ tableName: "t", primaryKey: { k: "a", n: 1 } });
    // In memory each handle is its own.
    const memory = await T.open("shared", { storage: "memory" });
    const alone = [memory.role, await memory.listTable()];
    await memory.close();
    await db2.close();
    return {
      messages: Object.fromEntries(Object.entries(codes).map(([name, { code, message }]) => [name, `${code}: ${message}`])),
      n: typeof row.primaryKey.n,
      role: db2.role,
      alone,
    };
  });
  assert.deepEqual([seen.n, seen.role, seen.alone], ["bigint", "follower", ["leader", []]]);
  const is = {
    durability: ["durability", "'relaxed'", "'strict'"],
    cache: ["cacheBytes", "1024", "33554432"],
    kind: ["kind", "'capacity'", "'high-performance'"],
    clock: ["clock.now", "5", "the default"],
    ownClock: ["clock", "a function", "the default"],
    salvage: ["salvage", "true", "false"],
    limits: ["limits", "'sdk'", "'document'"],
  };
  assert.deepEqual(
    seen.messages,
    Object.fromEntries(
      Object.entries(is).map(([name, [option, given, real]]) => [
        name,
        `OTSParameterInvalid: The argument '${option}' is ${given}, but the instance 'shared' is open already, with ${real}.`,
      ]),
    ),
  );
});

test("followers: deleteInstance is refused while any tab has the instance open", async (t) => {
  const { one, two } = await tabs(t);
  for (const page of [one, two]) assert.equal((await page.evaluate(() => H.refusal(() => T.deleteInstance("shared")))).code, "Busy");
  await one.evaluate(() => db.close());
  await two.evaluate(() => db.putRow({ tableName: "t", primaryKey: { k: "a", n: 1 } }));
  assert.equal((await one.evaluate(() => H.refusal(() => T.deleteInstance("shared")))).code, "Busy");
  await two.evaluate(() => db.close());
  await one.evaluate(() => T.deleteInstance("shared"));
});

test("followers: a lock without a leader behind it is taken over, and a leader with another version is refused by name", async (t) => {
  const { context, server, two } = await tabs(t);
  await two.evaluate(() => db.close());
  // A stranger, or a library from before: it has the lock and says nothing, as a tab that is frozen.
  await two.evaluate(() => {
    globalThis.stolen = navigator.locks.request("tabstore/silent", () => new Promise(() => {})).catch(({ name }) => name);
  });
  const three = await openPage(t, context, server);
  assert.equal(
    await three.evaluate(async () => {
      const silent = await T.open("silent");
      await silent.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      return silent.role;
    }),
    "leader",
  );
  assert.equal(await two.evaluate(() => stolen), "AbortError");
  await two.evaluate(async () => {
    await new Promise((resolve) => void navigator.locks.request("tabstore/newer", () => (resolve(), new Promise(() => {}))));
    const channel = new BroadcastChannel("tabstore/newer");
    channel.onmessage = ({ data }) =>
      data.kind === "seek" && channel.postMessage({ tabstore: 99, kind: "heard", leader: 1, client: data.client, ready: false, hub: false });
  });
  const newer = await three.evaluate(() => H.refusal(() => T.open("newer")));
  assert.equal(newer.code, "Busy");
  assert.match(newer.message, /'newer' is open in a tab with another version of TabStore \(protocol 99, here \d+\)/);
  assert.deepEqual(
    await three.evaluate(async () => (await navigator.locks.query()).pending.map(({ name }) => name).filter((name) => !name.includes("worker"))),
    [],
    "it waits for nothing any more",
  );
});

test("followers: a tab that goes without a word leaves no transaction and no session behind", async (t) => {
  const { one, two } = await tabs(t);
  await two.evaluate(async () => {
    const tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { k: "a" } });
    await tx.putRow({ tableName: "t", primaryKey: { k: "a", n: 1 } });
  });
  await two.close();
  // Its row is free long before the transaction's minute is over.
  await one.evaluate(() => db.putRow({ tableName: "t", primaryKey: { k: "a", n: 2 } }));
  assert.equal(await one.evaluate(async () => (await db.count({ tableName: "t" })).count), 1);
});

test("followers: several handles of a tab follow, each with a session of its own", async (t) => {
  const { one, two } = await tabs(t);
  const seen = await two.evaluate(async () => {
    const other = await T.open("shared", { integers: "bigint" });
    await Promise.all([db, other].map((one, n) => one.putRow({ tableName: "t", primaryKey: { k: "a", n } })));
    await db.close();
    const types = (await H.all(other, { tableName: "t" })).map((row) => typeof row.primaryKey.n);
    globalThis.db = other;
    return [other.role, types];
  });
  assert.deepEqual(seen, ["follower", ["bigint", "bigint"]]);
  await one.evaluate(() => db.close());
  assert.deepEqual(await two.evaluate(async () => [(await db.count({ tableName: "t" })).count, db.role]), [2, "leader"]);
});

test("follow: a handle with other options is refused by name, also behind one that creates nothing", async (t) => {
  const { context, server } = await tabs(t);
  const three = await openPage(t, context, server);
  const seen = await three.evaluate(async () => {
    const first = await T.open("shared", { create: false });
    const refusals = [];
    for (let i = 0; i < 3; i++)
      refusals.push(
        await Promise.race([
          H.refusal(() => T.open("shared", { durability: "strict" })),
          new Promise((resolve) => setTimeout(resolve, 5000, { code: "endless" })),
        ]),
      );
    const tables = await first.listTable();
    await first.close();
    return { codes: refusals.map(({ code }) => code), message: refusals[0].message, tables };
  });
  assert.deepEqual([seen.codes, seen.tables], [Array(3).fill("OTSParameterInvalid"), ["t"]]);
  assert.match(seen.message, /'durability' is 'strict'/);
});

test("R4, R5: a follower's steps over two tables are each done once and whole, while the leader's tab is closed and the instance reopened", async (t) => {
  const { context, server, one, two } = await tabs(t);
  await one.evaluate(() => db.createTable({ tableName: "sum", primaryKey: [{ name: "k", type: "STRING" }] }));
  await two.evaluate(() => {
    globalThis.steps = 0;
    globalThis.errors = [];
    const step = (n) =>
      db
        .atomic([
          { tableName: "t", put: { primaryKey: { k: "a", n }, condition: { rowExistence: "EXPECT_NOT_EXIST" } } },
          { tableName: "sum", update: { primaryKey: { k: "all" }, increment: { steps: 1, of: n } } },
        ])
        .then(
          () => void (globalThis.steps += 1),
          (error) => void errors.push(String(error)),
        );
    // Until this tab has led for a while.
    globalThis.all = (async () => {
      for (let [n, led] = [0, 0]; led < 20; n += 4) {
        await Promise.all([n, n + 1, n + 2, n + 3].map(step));
        if (db.role === "leader") led += 1;
      }
    })();
  });
  await two.waitForFunction(() => steps >= 60 || errors.length > 0);
  await one.close();
  await two.evaluate(() => all);
  const [errors, steps, role] = await two.evaluate(() => [errors, steps, db.role]);
  assert.deepEqual([errors, role], [[], "leader"]);
  assert.ok(steps >= 140, `${steps} steps`);
  const stored = async (page) =>
    page.evaluate(async () => {
      const { row } = await db.getRow({ tableName: "sum", primaryKey: { k: "all" } });
      return [(await db.count({ tableName: "t" })).count, row.get("steps"), row.get("of")];
    });
  t.note(`${steps} steps`);
  assert.deepEqual(await stored(two), [steps, steps, (steps * (steps - 1)) / 2]);
  await two.evaluate(() => db.close());
  const three = await openPage(t, context, server);
  assert.equal(await three.evaluate(open, { name: "shared" }), "leader");
  assert.deepEqual(await stored(three), [steps, steps, (steps * (steps - 1)) / 2]);
});

test("R3, V1: a follower deletes ranges, counts live, and carries the instance, while the leader's tab is closed in between", async (t) => {
  const { one, two } = await tabs(t);
  await two.evaluate(async () => {
    await db.createTable({ tableName: "many", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 3 });
    const writer = db.writer("many");
    for (let id = 0; id < 20_000; id++) await writer.put({ primaryKey: { id }, attributes: { mark: id % 4, text: `text ${id}` } });
    await writer.close();
    await db.updateRow({ tableName: "many", primaryKey: { id: 7 }, put: { text: "newer" } });
    globalThis.counts = [];
    globalThis.live = db.watchCount({ tableName: "many", filter: { column: "mark", comparator: "EQUAL", value: 1 } });
    globalThis.end = live.subscribe(() => counts.push(live.getSnapshot().count));
    globalThis.file = await new Response(await db.exportInstance()).blob();
    globalThis.rows = async (of) =>
      JSON.stringify((await H.all(of, { tableName: "many", maxVersions: 3 })).map(({ primaryKey, columns }) => [primaryKey, columns]));
    globalThis.before = await rows(db);
  });
  await two.waitForFunction(() => counts.at(-1) === 5000);
  assert.equal(await two.evaluate(() => db.role), "follower");
  // The leader goes in the middle of the deletion.
  const deleting = two.evaluate(() => db.deleteRange({ tableName: "many", filter: { column: "mark", comparator: "EQUAL", value: 1 } }));
  await one.close({ runBeforeUnload: false });
  const { count } = await deleting;
  assert.ok(count <= 5000 && count >= 4000, `${count} of 5,000 rows, less at most the thousand of the call that the leader took along`);
  await two.waitForFunction(() => counts.at(-1) === 0);
  const seen = await two.evaluate(async () => {
    end();
    const { count } = await db.count({ tableName: "many" });
    await db.importInstance(file, { existing: "merge" });
    const merged = await rows(db);
    const other = await T.open("other");
    const { tables } = await other.importInstance(file);
    const elsewhere = await rows(other);
    await other.close();
    return { count, merged: merged === before, elsewhere: elsewhere === before, tables, role: db.role };
  });
  assert.deepEqual(seen, { count: 15_000, merged: true, elsewhere: true, tables: ["many", "t"], role: "leader" });
});
