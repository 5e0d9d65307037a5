// Storage in files of the origin: what ends an engine, and what is there then.

import assert from "node:assert/strict";

import { tier } from "../../report.mjs";
import { openLimited, openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { openFreezable, OWN_RENDERER } from "../support/frozen.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { open } from "../support/tabs.mjs";
import { prepared } from "../support/files.mjs";

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
