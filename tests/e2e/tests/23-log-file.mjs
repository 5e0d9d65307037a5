// The log in files of the origin's private file system: a worker has it there, any other thread takes it over, and a deletion
// leaves nothing of it.

import assert from "node:assert/strict";

import { BACKENDS, openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

/** In the page: what is stored where, and a table with rows. */
const prepare = () => {
  globalThis.F = {
    async fill(name, from, count, options) {
      const db = (globalThis.db = await H.openSoon(name, options));
      if (from === 0) await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = from; id < from + count; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: H.noise(id, 60) } });
      return (await db.metrics()).log;
    },
    /** Puts rows until the log is in files, which are opened after the first record. Returns their number. */
    async untilInFiles(from) {
      let count = 0;
      while (!(await db.metrics()).log.inFiles)
        await db.putRow({ tableName: "t", primaryKey: { id: from + count++ }, attributes: { text: H.noise(from, 60) } });
      return count;
    },
    async rows(name, options) {
      const db = (globalThis.db = await H.openSoon(name, options));
      let rows = 0;
      for await (const page of db.scanPages({ tableName: "t" })) rows += page.length;
      return { rows, inFiles: (await db.metrics()).log.inFiles };
    },
    /** The folder of an instance's log. */
    async folder(name) {
      const root = await navigator.storage.getDirectory();
      return (await root.getDirectoryHandle("tabstore-logs", { create: true })).getDirectoryHandle(name);
    },
    /** The files of the log. */
    async files(name) {
      const found = [];
      for await (const file of (await F.folder(name)).keys()) if (file !== "scratch") found.push(file);
      return found.sort();
    },
    /** What the file with copies of blocks begins with. Each opening of the file changes it. */
    async copies(name) {
      const file = await (await (await F.folder(name)).getFileHandle("scratch")).getFile();
      return { size: file.size, turn: [...new Uint8Array(await file.slice(8, 16).arrayBuffer())].join() };
    },
    /** Deletes the blocks of rows in IndexedDB, but not the indexes behind them. */
    async loseBlocks(name) {
      const keys = await H.rawKeys(name, "blocks");
      const rows = keys.filter(([segment], at) => segment > 3 && keys[at + 1]?.[0] === segment);
      for (const key of rows) await H.rawPut(name, "blocks", key);
      return rows.length;
    },
    /** The log records in IndexedDB, and the keys below them. */
    records: async (name) => (await H.rawKeys(name, "log")).filter((key) => key > 0).length,
  };
};

for (const backend of BACKENDS) {
  test(
    `Q: the records of a worker go to files, and are there after its tab was killed (${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const first = await openPage(t, context, server);
      await first.evaluate(prepare);
      await first.evaluate(() => F.fill("log", 0, 1));
      const { early, stored, log } = await first.evaluate(async () => {
        const early = await F.untilInFiles(1);
        await db.putRow({ tableName: "t", primaryKey: { id: 1 + early } });
        const stored = await F.records("log");
        for (let id = 2 + early; id < 500 + early; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: H.noise(id, 60) } });
        return { early, stored, log: (await db.metrics()).log };
      });
      assert.ok(log.inFiles && log.records > 490, JSON.stringify(log));
      assert.equal(await first.evaluate(() => F.records("log")), stored, "IndexedDB has the first records only");
      t.note(`${early} puts until the files were open`);
      assert.deepEqual(await first.evaluate(() => F.files("log")), ["1-0", "1-1"]);
      await engine.kill(context, first);

      const second = await openPage(t, context, server);
      await second.evaluate(prepare);
      assert.deepEqual(await second.evaluate(() => F.rows("log")), { rows: 500 + early, inFiles: true });
      // A close leaves what every version opens.
      await second.evaluate(() => db.close());
      assert.deepEqual(await second.evaluate(async () => (await H.rawKeys("log", "manifest")).filter((id) => id > 1e9)), []);
      assert.deepEqual(await second.evaluate(() => F.rows("log", { worker: false })), { rows: 500 + early, inFiles: false });
    },
    { needs: ["files", "crash"] },
  );
}

test(
  "Q: an engine in a page takes over the log of a worker that was killed, and a worker that of the page",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    let rows = 0;
    for (const worker of [true, false, true, false]) {
      const page = await openPage(t, context, server);
      await page.evaluate(prepare);
      if (rows > 0) assert.equal((await page.evaluate((worker) => F.rows("turns", { worker }), worker)).rows, rows);
      rows += await page.evaluate(
        async ([rows, worker]) => {
          if (rows > 0) await db.close();
          await F.fill("turns", rows, 300, { worker });
          return 300 + (worker ? await F.untilInFiles(rows + 300) : 0);
        },
        [rows, worker],
      );
      assert.equal(await page.evaluate(async () => (await db.metrics()).log.inFiles), worker);
      await engine.kill(context, page);
    }
  },
  { needs: ["files", "crash"] },
);

test(
  "I1: a deleted instance leaves no log, and a new one of its name begins empty",
  async (t) => {
    const page = await openPage(t, await startBrowser(t), await servePackage(t));
    await page.evaluate(prepare);
    const seen = await page.evaluate(async () => {
      await F.fill("gone", 0, 100);
      const before = (await F.files("gone")).length;
      await db.close();
      await T.deleteInstance("gone");
      const after = await F.files("gone").catch(({ name }) => name);
      await F.fill("gone", 0, 5);
      await db.close();
      return { before, after, again: (await F.rows("gone")).rows };
    });
    assert.deepEqual(seen, { before: 2, after: "NotFoundError", again: 5 });
  },
  { needs: ["files"] },
);

test(
  "R5: an instance whose log files are gone is refused by name, and a salvage gives the rest",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const first = await openPage(t, context, server);
    await first.evaluate(prepare);
    await first.evaluate(async () => {
      await F.fill("damaged", 0, 100);
      await db.flush();
      for (let id = 100; id < 150; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
    });
    await engine.kill(context, first);
    const page = await openPage(t, context, server);
    await page.evaluate(prepare);
    const seen = await page.evaluate(async () => {
      const folder = await F.folder("damaged");
      for (const name of await F.files("damaged")) {
        // The killed worker may have it for some milliseconds more.
        for (let tries = 0; tries < 100; tries++)
          if (
            await folder.removeEntry(name).then(
              () => true,
              () => new Promise((resolve) => setTimeout(resolve, 20)),
            )
          )
            break;
      }
      const { code, message } = await H.refusal(() => H.openSoon("damaged"));
      const { rows } = await F.rows("damaged", { salvage: true });
      const missing = await db.missing();
      return { code, message, rows, missing: missing.length };
    });
    assert.equal(seen.code, "Corrupt", JSON.stringify(seen));
    assert.match(seen.message, /the log/);
    assert.ok(seen.rows === 100 && seen.missing > 0, JSON.stringify(seen));
  },
  { needs: ["files", "crash"] },
);

for (const backend of BACKENDS) {
  test(
    `Q: on a full origin writes go on while the file has room, then they are refused by name, and all others are there (${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const page = await openPage(t, context, server);
      await page.evaluate(prepare);
      const limit = await engine.limit(context, page, server, 14_000_000);
      await page.evaluate(async () => {
        await F.fill("full", 0, 1000);
        await db.flush();
        globalThis.put = (id) => H.refusal(() => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: H.noise(id, 10_000) } }));
      });
      await limit(await page.evaluate(async () => (await navigator.storage.estimate()).usage));
      const { stored, code } = await page.evaluate(async () => {
        for (let stored = 0; ; stored++) {
          const { refused, code } = await put(1000 + stored);
          if (refused) return { stored, code };
        }
      });
      assert.equal(code, "QuotaExceeded");
      await engine.kill(context, page);
      const second = await openPage(t, context, server);
      await second.evaluate(prepare);
      const { rows } = await second.evaluate(() => F.rows("full"));
      assert.ok(rows === 1000 + stored || rows === 1001 + stored, `${rows} rows, ${stored} more were acknowledged`);
      t.note(`${stored} more rows of 10 KB`);
    },
    { needs: ["files", "quota", "resizing", "crash"] },
  );
}

for (const backend of BACKENDS) {
  test(
    `P: after a reload rows come from copies in a file, whatever IndexedDB has (${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const first = await openPage(t, context, server);
      await first.evaluate(prepare);
      await first.evaluate(async () => {
        const db = await H.openSoon("copies");
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        const writer = db.writer("t");
        for (let id = 0; id < 20_000; id++) {
          const wait = writer.put({ primaryKey: { id }, attributes: { text: H.noise(id, 60) } });
          if (wait) await wait;
        }
        await writer.close();
        await db.compact();
        await db.close();
      });
      const before = await first.evaluate(() => F.copies("copies"));
      assert.ok(before.size > 1_000_000 && before.size <= 16_777_216, `${before.size} bytes`);
      await first.close();

      const second = await openPage(t, context, server);
      await second.evaluate(prepare);
      const lost = await second.evaluate(async (turn) => {
        globalThis.db = await H.openSoon("copies");
        // The catalog and the indexes are read now.
        await db.describeTable("t");
        const hasTurned = async () => {
          try {
            return (await F.copies("copies")).turn !== turn;
          } catch (error) {
            // A file that is written between its opening and its reading here cannot be read.
            if (error.name !== "NotReadableError") throw error;
            return false;
          }
        };
        while (!(await hasTurned())) await new Promise((resolve) => setTimeout(resolve, 5));
        return F.loseBlocks("copies");
      }, before.turn);
      assert.ok(lost > 10, `${lost} blocks`);
      const wrong = await second.evaluate(async () => {
        const ids = Array.from({ length: 115 }, (_, at) => 7 + at * 173);
        const isWrong = async (id) => (await db.getRow({ tableName: "t", primaryKey: { id } })).row?.get("text") !== H.noise(id, 60);
        const alone = [];
        for (const id of ids) if (await isWrong(id)) alone.push(id);
        const together = await Promise.all(ids.map((id) => isWrong(id + 1)));
        let rows = 0;
        for await (const page of db.scanPages({ tableName: "t" })) rows += page.length;
        return { alone, together: together.filter(Boolean).length, rows };
      });
      assert.deepEqual(wrong, { alone: [], together: 0, rows: 20_000 });
      await second.evaluate(() => db.close());
    },
    { needs: ["files"] },
  );
}
