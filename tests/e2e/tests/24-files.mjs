// Instances in files of the origin: `storage: "files"` in a browser.

import assert from "node:assert/strict";

import { tier } from "../../report.mjs";
import { openLimited, openPage, reload, startBrowser } from "../support/browser.mjs";
import { refusal, startContext, use, USED } from "../support/contexts.mjs";
import { engine } from "../support/engine.mjs";
import { openFreezable, OWN_RENDERER } from "../support/frozen.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { led, open, tabs } from "../support/tabs.mjs";
import { noteWorkers } from "../support/workers.mjs";

/** In the page: instances in files, and their folders. */
const prepare = () => {
  const options = { storage: "files" };
  globalThis.F = {
    async fill(name, from, count, more) {
      const db = (globalThis.db = await T.open(name, { ...options, ...more }));
      if (from === 0) await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await Promise.all(
        Array.from({ length: count }, (_, i) => db.putRow({ tableName: "t", primaryKey: { id: from + i }, attributes: { text: H.noise(from + i, 60) } })),
      );
    },
    /** The rows of an instance that are as `fill` has stored them. */
    async rows(name, more) {
      const db = (globalThis.db = await T.open(name, { ...options, ...more }));
      return (await H.all(db, { tableName: "t" })).filter((row) => row.get("text") === H.noise(row.primaryKey.id, 60)).length;
    },
    async folder(name) {
      return (await (await navigator.storage.getDirectory()).getDirectoryHandle("tabstore-files")).getDirectoryHandle(name);
    },
    async names(name) {
      const names = [];
      for await (const file of (await F.folder(name)).keys()) names.push(file);
      return names.sort();
    },
    databases: async () => (await indexedDB.databases()).map(({ name }) => name).sort(),
  };
};

/** A page with the functions above. */
async function prepared(t, context, server) {
  const page = await openPage(t, context, server);
  await page.evaluate(prepare);
  return page;
}

const FILES = /^(\d+\.(journal-[01]|segment-[0-9a-f]+|opened)|instance\.capacity\.\d+\.Shop)$/;

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

test(
  "I1, files: instances in files are listed, described and deleted, not while they are open; a deletion that was cut off goes on",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const page = await prepared(t, context, server);
    const files = { storage: "files" };
    const before = await page.evaluate(async (files) => {
      const empty = await T.listInstances(files);
      await F.fill("Books", 0, 10, { kind: "capacity" });
      await db.close();
      await F.fill("alpha", 0, 10);
      const listed = (await T.listInstances(files)).map(({ name, kind, creationTime }) => [name, kind, Math.abs(creationTime - Date.now()) < 60_000]);
      globalThis.first = db;
      const { name } = await T.describeInstance("BOOKS", files);
      const others = await T.listInstances();
      const refused = [await H.refusal(() => T.describeInstance("nobody", files)), await H.refusal(() => T.deleteInstance("nobody", files))].map(
        ({ code }) => code,
      );
      return { empty, listed, name, others, refused };
    }, files);
    assert.deepEqual(before, {
      empty: [],
      listed: [
        ["alpha", "high-performance", true],
        ["Books", "capacity", true],
      ],
      name: "Books",
      others: [],
      refused: ["OTSObjectNotExist", "OTSObjectNotExist"],
    });
    const other = await prepared(t, context, server);
    assert.equal(await other.evaluate(async (files) => (await H.refusal(() => T.deleteInstance("alpha", files))).code, files), "Busy");
    const after = await page.evaluate(async (files) => {
      const own = (await H.refusal(() => T.deleteInstance("alpha", files))).code;
      const kept = await F.rows("alpha");
      await Promise.all([first.close(), db.close()]);
      await T.deleteInstance("Alpha", files);
      // A deletion that has begun, whose tab was killed.
      const folder = await F.folder("books");
      for (const name of await F.names("books")) if (/^instance|journal-1$/.test(name)) await folder.removeEntry(name);
      const listed = await T.listInstances(files);
      const missing = await H.refusal(() => T.open("books", { ...files, create: false }));
      await F.fill("books", 0, 5);
      const rows = (await H.all(db, { tableName: "t" })).length;
      const { kind } = await db.metrics();
      await db.close();
      return { own, kept, listed, missing: missing.code, rows, kind, names: (await T.listInstances(files)).map(({ name }) => name) };
    }, files);
    assert.deepEqual(after, { own: "Busy", kept: 10, listed: [], missing: "OTSObjectNotExist", rows: 5, kind: "high-performance", names: ["books"] });
  },
  { needs: ["storage"] },
);

test(
  "files: an instance whose journal is gone is told as lost, and begins anew if asked to",
  async (t) => {
    const page = await prepared(t, await startBrowser(t), await servePackage(t));
    const seen = await page.evaluate(async () => {
      await F.fill("lost", 0, 10);
      await db.close();
      const folder = await F.folder("lost");
      for (const name of await F.names("lost")) if (name.includes(".journal-")) await folder.removeEntry(name);
      const { code } = await H.refusal(() => T.open("lost", { storage: "files" }));
      await F.fill("lost", 0, 7, { lost: "recreate" });
      await db.close();
      return { code, rows: await F.rows("lost") };
    });
    assert.deepEqual(seen, { code: "DataLost", rows: 7 });
  },
  { needs: ["storage"] },
);

test(
  "files: if the site's data is cleared while an instance is open, it ends by name, and the next one begins anew",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const page = await prepared(t, context, server);
    for (const then of ["put", "flush", "close"]) {
      await page.evaluate(async () => {
        await F.fill("cleared", 0, 50);
        globalThis.told = new Promise((resolve) => db.addEventListener("health", ({ healthy, error }) => resolve([healthy, error.code, error.message])));
      });
      await engine.clear(context, page, server, "indexeddb,file_systems");
      if (then !== "close") {
        // A flush closes the file of its segment.
        if (then === "put") await page.evaluate(() => H.refusal(() => db.putRow({ tableName: "t", primaryKey: { id: 100 } })));
        else await page.evaluate(() => H.refusal(() => db.flush()));
        const [healthy, code, message] = await page.evaluate(() => told);
        assert.deepEqual([healthy, code], [false, "Closed"]);
        assert.match(message, /site's data was cleared/);
        assert.equal(await page.evaluate(async () => (await H.refusal(() => db.listTable())).code), "Closed");
      }
      // Right after it, nobody has noticed yet.
      await page.evaluate(() => db.close());
      assert.deepEqual(
        await page.evaluate(async () => {
          const db = await T.open("cleared", { storage: "files" });
          const tables = await db.listTable();
          await db.close();
          await T.deleteInstance("cleared", { storage: "files" });
          return tables;
        }),
        [],
      );
    }
  },
  { needs: ["storage", "clear"] },
);

test(
  "files: a deletion beside a frozen tab that has the files is refused, and deletes nothing",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t, { args: OWN_RENDERER });
    const one = await openFreezable(t, context, server);
    const options = { storage: "files" };
    await one.evaluate(open, { name: "frozen", options });
    await one.evaluate(() => db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] }));
    const two = await openFreezable(t, context, server);
    one.stop();
    // Its lock is taken from it, and given back: it holds its files all the same.
    const seen = await two.evaluate(async (options) => {
      const opening = T.open("frozen", options);
      const { createWritable } = FileSystemFileHandle.prototype;
      let asked = 0;
      FileSystemFileHandle.prototype.createWritable = function (...given) {
        asked += 1;
        return createWritable.apply(this, given);
      };
      const codes = [];
      for (const started = performance.now(); asked < 3 && performance.now() - started < 40_000; )
        codes.push((await H.refusal(() => T.deleteInstance("frozen", options))).code);
      const listed = (await T.listInstances(options)).map(({ name }) => name);
      globalThis.opening = opening;
      return { codes: [...new Set(codes)], listed, asked: asked > 0 };
    }, options);
    // It had the lock, and asked for the journal's file.
    assert.deepEqual(seen, { codes: ["Busy"], listed: ["frozen"], asked: true });
    one.thaw();
    assert.deepEqual(await two.evaluate(async () => (await opening).listTable()), ["t"]);
  },
  { needs: ["storage", "freezing"], seconds: 90 },
);

test(
  "files: one of several handles that close at once never fails",
  async (t) => {
    const page = await openPage(t, await startBrowser(t), await servePackage(t));
    const failures = await page.evaluate(async () => {
      const failures = [];
      for (let i = 0; i < 60; i++) {
        const handles = await Promise.all([T.open("twice", { storage: "files" }), T.open("twice", { storage: "files" })]);
        const [one, two] = i % 2 === 0 ? handles : handles.reverse();
        const closing = one.close().catch(({ code }) => failures.push(code));
        if (i % 3 > 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        await two.close().catch(({ code }) => failures.push(code));
        await closing;
      }
      return failures;
    });
    assert.deepEqual(failures, []);
  },
  { needs: ["storage"] },
);

test(
  "Q, files: a full origin refuses what adds by name, still deletes, and is written again",
  async (t) => {
    const server = await servePackage(t);
    const { page } = await openLimited(t, server, 24_000_000);
    const seen = await page.evaluate(async () => {
      const options = { storage: "files", memtableBytes: 512 * 1024 };
      const db = await T.open("full", options);
      const put = (tableName, id) =>
        H.refusal(() => db.putRow({ tableName, primaryKey: { id }, attributes: { bytes: crypto.getRandomValues(new Uint8Array(8000)) } }));
      for (const tableName of ["gone", "kept"]) await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = 0; id < 400; id++) await put("gone", id);
      let refusal;
      let rows = 0;
      for (; rows < 20_000 && !(refusal = await put("kept", rows)).refused; rows++);
      const stored = (await db.count({ tableName: "kept" })).count;
      for (let id = 0; id < 50; id++) await db.deleteRow({ tableName: "kept", primaryKey: { id } });
      await db.deleteTable("gone");
      const started = performance.now();
      let last;
      do {
        last = await put("kept", rows + 1);
        if (last.refused) await new Promise((resolve) => setTimeout(resolve, 100));
      } while (last.refused && performance.now() - started < 20_000);
      const took = performance.now() - started;
      await db.close();
      const again = await T.open("full", options);
      const after = (await H.all(again, { tableName: "kept" })).length;
      return { code: refusal.code, rows, stored, last: last.refused, after, took };
    });
    assert.deepEqual({ ...seen, took: 0 }, { code: "QuotaExceeded", rows: seen.rows, stored: seen.rows, last: false, after: seen.rows - 49, took: 0 });
    t.note(`${seen.rows} rows until it was full; written again after ${seen.took.toFixed(0)} ms`);
  },
  { needs: ["storage", "quota"], seconds: 120 },
);

for (const kind of turns(["capacity", "high-performance"])) {
  test(
    `Q, files: a full origin of small segments heals by itself once most rows are deleted (${kind})`,
    async (t) => {
      const server = await servePackage(t);
      const { page } = await openLimited(t, server, tier === "full" ? 40_000_000 : 20_000_000);
      const seen = await page.evaluate(async (kind) => {
        const db = await T.open("heals", { storage: "files", kind, memtableBytes: 20_000 });
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        const put = (id) => H.refusal(() => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { noise: H.noise(id, 3000) } }));
        let rows = 0;
        let refusal;
        for (; rows < 40_000 && !(refusal = await put(rows)).refused; rows++);
        let [kept, refused] = [0, 0];
        for (let id = 0; id < rows; id++) {
          if (id % 20 === 0) kept += 1;
          // Chromium wants room for a mebibyte when a file grows, and tells late that there is some again.
          for (let gone; id % 20 !== 0 && (gone = await H.refusal(() => db.deleteRow({ tableName: "t", primaryKey: { id } }))).refused; ) {
            refused += 1;
            if (refused > 100) throw new Error(gone.message);
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
        const started = performance.now();
        let last;
        do {
          await db.compact().catch(() => {});
          last = await put(rows);
          if (last.refused) await new Promise((resolve) => setTimeout(resolve, 100));
        } while (last.refused && performance.now() - started < 20_000);
        const took = performance.now() - started;
        const { count } = await db.count({ tableName: "t" });
        const { live } = await db.storage();
        await db.close();
        return { code: refusal.code, last: last.refused, lost: kept + 1 - count, rows, refused, took, live };
      }, kind);
      assert.deepEqual([seen.code, seen.last, seen.lost], ["QuotaExceeded", false, 0]);
      t.note(
        `${seen.rows} rows until it was full; ${seen.refused} deletions were refused and asked again; written again after ${seen.took.toFixed(0)} ms; ${seen.live} bytes are live`,
      );
    },
    { needs: ["storage", "quota"], seconds: 300 },
  );
}
