// Instances in files of the origin: `storage: "files"` in a browser.

import assert from "node:assert/strict";

import { openPage, reload, startBrowser } from "../support/browser.mjs";
import { refusal, startContext, use, USED } from "../support/contexts.mjs";
import { engine } from "../support/engine.mjs";
import { openFreezable, OWN_RENDERER } from "../support/frozen.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { led, open, tabs } from "../support/tabs.mjs";
import { noteWorkers } from "../support/workers.mjs";
import { prepare, prepared, FILES } from "../support/files.mjs";

test(
  "files: an instance lies in the files of the origin, and is there after a reload, after a close, and beside one of its name in IndexedDB",
  async (t) => {
    const page = await prepared(t, await startBrowser(t), await servePackage(t));
    const first = await page.evaluate(async () => {
      await F.fill("Shop", 0, 2000, { kind: "capacity", memtableBytes: 32 * 1024 });
      await db.flush();
      const seen = {
        persistence: db.persistence,
        role: db.role,
        inFiles: (await db.metrics()).log.inFiles,
        names: await F.names("shop"),
        databases: await F.databases(),
      };
      // What comes now is in the log.
      await F.fill("shop", 2000, 100);
      return seen;
    });
    assert.deepEqual({ ...first, names: 0 }, { persistence: "files", role: "leader", inFiles: true, names: 0, databases: [] });
    assert.deepEqual(
      first.names.filter((name) => !FILES.test(name)),
      [],
    );
    assert.ok(first.names.filter((name) => name.includes(".segment-")).length > 0, first.names.join());
    await reload(page);
    await page.evaluate(prepare);
    const second = await page.evaluate(async () => {
      const rows = [await F.rows("shop")];
      await db.close();
      rows.push(await F.rows("SHOP"));
      const { kind } = await db.metrics();
      const other = await T.open("shop");
      const tables = await other.listTable();
      await other.close();
      let damaged = 0;
      for await (const _ of db.verify({ texts: true })) damaged += 1;
      await db.close();
      return { rows, kind, tables, databases: await F.databases(), damaged };
    });
    assert.deepEqual(second, { rows: [2100, 2100], kind: "capacity", tables: [], databases: ["tabstore", "tabstore/shop"], damaged: 0 });
  },
  { needs: ["storage"] },
);

test(
  "files: what a killed tab has written is there, whole, for the next one",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    for (let round = 0; round < 3; round++) {
      const page = await prepared(t, context, server);
      assert.equal(round === 0 ? 0 : await page.evaluate(() => F.rows("killed").then((rows) => db.close().then(() => rows))), round * 300);
      await page.evaluate((from) => F.fill("killed", from, 300, { memtableBytes: 16 * 1024 }), round * 300);
      await engine.kill(context, page);
    }
    const page = await prepared(t, context, server);
    assert.equal(await page.evaluate(() => F.rows("killed")), 900);
  },
  { needs: ["storage", "crash"] },
);

test(
  "files: tabs share an instance, and the next one leads when the leader is closed",
  async (t) => {
    const { one, two, context, server } = await tabs(t, { options: { storage: "files" } });
    const put = (n) => db.putRow({ tableName: "t", primaryKey: { k: "a", n } });
    await Promise.all([one.evaluate(put, 1), two.evaluate(put, 2)]);
    await one.close();
    await led([two]);
    await two.evaluate(put, 3);
    const three = await openPage(t, context, server);
    assert.equal(await three.evaluate(open, { name: "shared", options: { storage: "files" } }), "follower");
    await three.evaluate(put, 4);
    await two.evaluate(() => db.close());
    await led([three]);
    await three.evaluate(put, 5);
    assert.deepEqual(await three.evaluate(async () => [(await db.count({ tableName: "t" })).count, roles, health, db.persistence]), [
      5,
      ["leader"],
      [],
      "files",
    ]);
  },
  { needs: ["storage"] },
);

for (const [how, end, needs] of [
  ["traps", (page) => page.evaluate(() => last.postMessage("trap")), []],
  [
    "closes itself",
    (page) =>
      page
        .workers()[0]
        .evaluate(() => self.close())
        .catch(() => {}),
    ["workers"],
  ],
]) {
  test(
    `files: a worker that ${how} gives its files back, and the handle goes on with a fresh engine`,
    async (t) => {
      const page = await openPage(t, await startBrowser(t), await servePackage(t), "/trapping/");
      await page.evaluate(noteWorkers);
      await page.evaluate(async () => {
        globalThis.db = await T.open("ends", { storage: "files" });
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        for (let id = 0; id < 50; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
      });
      await end(page);
      const seen = await page.evaluate(async () => {
        const started = performance.now();
        // A write in flight at the end is refused as unknown.
        const first = await db.putRow({ tableName: "t", primaryKey: { id: 50 } }).then(
          () => "stored",
          ({ code }) => code,
        );
        await db.putRow({ tableName: "t", primaryKey: { id: 51 } });
        const { count } = await db.count({ tableName: "t" });
        const took = performance.now() - started;
        await db.close();
        return { first, count, took };
      });
      assert.ok(seen.first === "stored" ? seen.count === 52 : seen.first === "LeaderChanged" && seen.count >= 51, JSON.stringify(seen));
      t.note(`the first write: ${seen.first}; ${seen.took.toFixed(0)} ms`);
    },
    { needs: ["storage", ...needs] },
  );
}

test(
  "files: a write of unknown fate is told, and read after the next opening as it is stored",
  async (t) => {
    const page = await openPage(t, await startBrowser(t), await servePackage(t), "/doubting/");
    await page.evaluate(noteWorkers);
    const seen = await page.evaluate(async () => {
      globalThis.db = await T.open("doubts", { storage: "files" });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
      last.postMessage("doubt");
      const first = await H.refusal(() => db.putRow({ tableName: "t", primaryKey: { id: 2 } }));
      const next = await H.refusal(() => db.putRow({ tableName: "t", primaryKey: { id: 3 } }));
      const read = await H.refusal(() => db.count({ tableName: "t" }));
      await db.close();
      const again = await H.openSoon("doubts", { storage: "files" });
      const ids = (await H.all(again, { tableName: "t" })).map((row) => row.primaryKey.id);
      await again.putRow({ tableName: "t", primaryKey: { id: 4 } });
      await again.close();
      return { first, next, read, ids };
    });
    assert.deepEqual([seen.first.refused, seen.first.code], [true, "Unavailable"], JSON.stringify(seen));
    const stored = [1, 2, ...(seen.next.refused ? [] : [3])];
    assert.ok([stored.join(), stored.filter((id) => id !== 2).join()].includes(seen.ids.join()), JSON.stringify(seen));
    t.note(`the write was ${seen.ids.includes(2) ? "stored" : "not stored"}`);
  },
  { needs: ["storage"] },
);

test(
  "files: a page that opens, closes and opens again without waiting is never refused",
  async (t) => {
    const page = await prepared(t, await startBrowser(t), await servePackage(t));
    const failures = await page.evaluate(async () => {
      const failures = [];
      const fail = ({ code, message }) => void failures.push(`${code}: ${message}`);
      for (let i = 0; i < 20; i++) {
        const first = T.open("mounts", { storage: "files" });
        const closed = first.then((db) => db.close());
        const second = await T.open("mounts", { storage: "files" }).catch(fail);
        await closed.catch(fail);
        await second?.listTable().catch(fail);
        await second?.close().catch(fail);
      }
      return failures;
    });
    assert.deepEqual(failures, []);
  },
  { needs: ["storage"] },
);

test(
  "files: an opening and a deletion wait for files that a worker still has, as it may a moment after its lock is free",
  async (t) => {
    const page = await prepared(t, await startBrowser(t), await servePackage(t));
    const seen = await page.evaluate(async () => {
      await F.fill("late", 0, 10);
      await db.close();
      const hold = async ({ data }) => {
        const folder = await (await (await navigator.storage.getDirectory()).getDirectoryHandle("tabstore-files")).getDirectoryHandle("late");
        const held = [];
        for (const name of data) held.push(await (await folder.getFileHandle(name)).createSyncAccessHandle());
        globalThis.onmessage = () => {
          for (const file of held) file.close();
        };
        postMessage("held");
      };
      const beside = async (call) => {
        const other = new Worker(URL.createObjectURL(new Blob([`onmessage = ${hold}`], { type: "text/javascript" })));
        const holds = new Promise((resolve) => (other.onmessage = resolve));
        other.postMessage((await F.names("late")).filter((name) => name.includes(".journal-")));
        await holds;
        setTimeout(() => other.postMessage("enough"), 300);
        return call();
      };
      const rows = await beside(() => F.rows("late"));
      await db.close();
      const { message } = await beside(() => H.refusal(() => T.deleteInstance("late", { storage: "files" })));
      return { rows, message, left: await T.listInstances({ storage: "files" }) };
    });
    assert.deepEqual(seen, { rows: 10, message: undefined, left: [] });
  },
  { needs: ["storage"] },
);

test(
  "files: an engine in a dedicated worker of the page that loses its lock gives its files back, though its worker goes on",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const one = await openPage(t, context, server, "/contexts.html");
    const worker = await startContext(one, "dedicated worker");
    await worker.evaluate(async () => {
      globalThis.db = await T.open("given", { storage: "files", worker: false });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
    });
    const two = await openPage(t, context, server);
    assert.equal(await two.evaluate(open, { name: "given", options: { storage: "files" } }), "follower");
    await two.evaluate(() => navigator.locks.request("tabstore/files/given", { steal: true }, () => {}));
    await led([two]);
    assert.equal(await two.evaluate(async () => (await db.count({ tableName: "t" })).count), 1);
  },
  { needs: ["storage"] },
);

test(
  "files: a frozen tab keeps its instance; the calls of another tab wait until it goes on, and nothing is lost",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t, { args: OWN_RENDERER });
    const one = await openFreezable(t, context, server);
    const options = { storage: "files" };
    assert.equal(await one.evaluate(open, { name: "frozen", options }), "leader");
    await one.evaluate(async () => {
      await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      await db.putRow({ tableName: "t", primaryKey: { k: "one" } });
    });
    const two = await openFreezable(t, context, server);
    assert.equal(await two.evaluate(open, { name: "frozen", options }), "follower");
    one.stop();
    const waited = await two.evaluate(() => {
      globalThis.putting = db.updateRow({ tableName: "t", primaryKey: { k: "two" }, increment: { v: 1 } }).then(
        () => "stored",
        ({ code }) => code,
      );
      return Promise.race([putting, new Promise((resolve) => setTimeout(resolve, 6000, "waits"))]);
    });
    // A write in flight at a leader that hangs is refused as unknown; later ones wait.
    assert.ok(["waits", "LeaderChanged"].includes(waited), waited);
    const later = two.evaluate(() =>
      db.putRow({ tableName: "t", primaryKey: { k: "three" } }).then(
        () => "stored",
        ({ code }) => code,
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    one.thaw();
    assert.equal(await later, "stored");
    const found = await two.evaluate(async () => (await H.all(db, { tableName: "t" })).map((row) => [row.primaryKey.k, row.get("v")]));
    assert.deepEqual(
      found.filter(([k]) => k !== "two").map(([k]) => k),
      ["one", "three"],
    );
    for (const [k, v] of found) assert.equal(v, k === "two" ? 1 : undefined);
    assert.ok((await one.evaluate(async () => (await db.count({ tableName: "t" })).count)) >= 2);
  },
  { needs: ["storage", "freezing"] },
);

test("files: what cannot have them is refused by name, and so is a path", async (t) => {
  const page = await openPage(t, await startBrowser(t), await servePackage(t));
  const seen = await page.evaluate(async () => {
    const say = ({ code, message }) => `${code}: ${message}`;
    return {
      page: say(await H.refusal(() => T.open("refused", { storage: "files", worker: false }))),
      path: say(await H.refusal(() => T.open("refused", { storage: "files", path: "/data" }))),
      missing: say(await H.refusal(() => T.open("refused", { storage: "files", create: false }))),
      name: say(await H.refusal(() => T.open("../up", { storage: "files" }))),
      names: await Promise.all(
        ["", "..", "a/b", "ab", "no_such", "x".repeat(17)].map(async (name) => (await H.refusal(() => T.deleteInstance(name, { storage: "files" }))).code),
      ),
      again: say(await H.refusal(() => T.open("refused", { storage: "files", worker: false }))),
      listed: say(await H.refusal(() => T.listInstances({ storage: "memory" }))),
      works: (await T.open("refused").then((db) => db.close())) === undefined,
    };
  });
  const hasFiles = !("storage" in engine.lacks);
  assert.match(seen.page, hasFiles ? /^Unavailable: .*dedicated worker/ : /^Unavailable: .*no files of an origin/);
  assert.equal(seen.again, seen.page);
  assert.match(seen.path, /^OTSParameterInvalid: .*'path' is for Node and Deno/);
  assert.match(seen.missing, hasFiles ? /^OTSObjectNotExist: / : /^Unavailable: /);
  assert.match(seen.name, hasFiles ? /^OTSParameterInvalid: / : /^Unavailable: /);
  assert.deepEqual([...new Set(seen.names)], ["OTSParameterInvalid"]);
  assert.match(seen.listed, /^OTSParameterInvalid: .*'storage' is 'memory'/);
  assert.equal(seen.works, true);
});

for (const entry of ["index", "inline"]) {
  test(
    `files: a dedicated worker has all of an instance in files, with a worker of its own and without; a shared worker is refused by name (${entry})`,
    async (t) => {
      const page = await openPage(t, await startBrowser(t), await servePackage(t), "/contexts.html");
      const wanted = { ...USED, persistence: "files" };
      const context = await startContext(page, "dedicated worker", entry);
      for (const worker of [false, true]) assert.deepEqual(await context.evaluate(use, { storage: "files", worker }), wanted, `worker: ${worker}`);
      assert.deepEqual(
        await page.evaluate(
          async ([entry, body]) => {
            globalThis.T = await import(`/pkg/${entry}.js`);
            return (0, eval)(`(${body})`)({ storage: "files" });
          },
          [entry, String(use)],
        ),
        wanted,
        "page",
      );
      const shared = await startContext(page, "shared worker", entry);
      const { code, message } = await shared.evaluate(refusal, { storage: "files", worker: false });
      assert.equal(code, "Unavailable");
      assert.match(message, /dedicated worker/);
    },
    { needs: ["storage"] },
  );
}

test(
  "files: a page that cannot open files is refused beside a tab that leads too",
  async (t) => {
    const { two, context, server } = await tabs(t, { options: { storage: "files" } });
    const three = await openPage(t, context, server);
    const { code, message } = await three.evaluate(() => H.refusal(() => T.open("shared", { storage: "files", worker: false })));
    assert.equal(code, "Unavailable");
    assert.match(message, /dedicated worker/);
    assert.deepEqual(await two.evaluate(async () => [await db.listTable(), health]), [["t"], []]);
  },
  { needs: ["storage"] },
);
