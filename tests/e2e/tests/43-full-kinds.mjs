// A full origin and every kind of write: it fails by name and stores nothing, reads and deletions go on, and the same write
// works by itself once space is freed. In the tab that leads, and from another one.

import assert from "node:assert/strict";

import { tier } from "../../report.mjs";
import { BACKENDS, openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { singles, test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { open } from "../support/tabs.mjs";

const MB = 1_000_000;

/** The kinds. Each is asked for by `write(id)`, and `there(id)` tells whether anything of it is stored. */
const define = () => {
  const tableName = "t";
  const rows = async (id, count = 1) => (await H.all(db, { tableName, start: { id }, end: { id: id + count } })).length > 0;
  const key = (id) => ({ tableName, primaryKey: { id } });
  const batch = async (id, options) => {
    const items = [
      { tableName, put: { primaryKey: { id } } },
      { tableName, update: { primaryKey: { id: id + 1 }, put: { v: 1 } } },
    ];
    for (const { ok, error } of await db.batchWriteRow(
      options.atomic ? [items[0], { ...items[1], update: { ...items[1].update, primaryKey: { id } } }] : items,
      options,
    )) {
      if (!ok) throw error;
    }
  };
  const described = async () => JSON.stringify(await db.describeTable(tableName));
  globalThis.kinds = {
    putRow: { write: (id) => db.putRow({ ...key(id), attributes: { v: 1 } }), there: rows },
    updateRow: { write: (id) => db.updateRow({ ...key(id), put: { v: 1 } }), there: rows },
    increment: { write: (id) => db.updateRow({ ...key(id), increment: { v: 1 } }), there: rows },
    batchWriteRow: { write: (id) => batch(id, {}), there: (id) => rows(id, 2) },
    "an atomic batch": { write: (id) => batch(id, { atomic: true }), there: rows },
    "a transaction": {
      write: async (id) => {
        const transaction = await db.startLocalTransaction({ tableName, partitionKey: { id } });
        await transaction.putRow(key(id));
        await transaction.commit();
      },
      there: rows,
    },
    "a writer": {
      write: async (id) => {
        const writer = db.writer(tableName);
        for (let i = 0; i < 1000; i++) {
          const wait = writer.put({ primaryKey: { id: id + i }, attributes: { v: i } });
          if (wait) await wait;
        }
        await writer.close();
      },
      there: (id) => rows(id, 1000),
    },
    importRows: {
      write: (id) =>
        db.importRows(tableName, new Blob([Array.from({ length: 1000 }, (_, i) => JSON.stringify({ id: id + i, v: i })).join("\n")]), { format: "ndjson" }),
      there: (id) => rows(id, 1000),
    },
    createTable: {
      write: () => db.createTable({ tableName: "new", primaryKey: [{ name: "id", type: "INTEGER" }] }),
      there: async () => (await db.listTable()).includes("new"),
    },
    updateTable: {
      write: () => db.updateTable({ tableName, maxVersionOffset: 200_000 }),
      there: async () => (await db.describeTable(tableName)).maxVersionOffset === 200_000,
    },
    addDefinedColumn: {
      write: () => db.addDefinedColumn({ tableName, columns: [{ name: "n", type: "INTEGER" }] }),
      there: async () => (await described()).includes('"n"'),
    },
    createIndex: {
      write: () => db.createIndex({ tableName, index: { indexName: "by_n", primaryKey: ["n"] }, includeBaseData: true }),
      there: async () => (await described()).includes("by_n"),
    },
    createAccessKey: { write: () => db.createAccessKey({ rights: ["read"] }), there: async () => (await db.listAccessKeys()).length > 0 },
    // More than the reserve: otherwise they have the room.
    flush: {
      room: 2.6,
      prepare: async (id) => {
        const bytes = () => crypto.getRandomValues(new Uint8Array(50_000));
        await db.batchWriteRow(Array.from({ length: 50 }, (_, i) => ({ tableName, put: { primaryKey: { id: id + i }, attributes: { bytes: bytes() } } })));
      },
      write: () => db.flush(),
    },
    compaction: {
      before: async () => {
        await load("large", 2.4);
        await db.putRow({ tableName: "large", primaryKey: { id: 5 } });
        await db.flush();
      },
      write: () => db.compact(),
    },
  };
};

/** Loads a new table with so many megabytes. A load has few records that are small: those stay as garbage in LevelDB. */
const prepare = () => {
  globalThis.load = async (tableName, megabytes) => {
    await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
    const writer = db.writer(tableName);
    for (let id = 0; id < megabytes * 20; id++) {
      const wait = writer.put({ primaryKey: { id }, attributes: { bytes: crypto.getRandomValues(new Uint8Array(50_000)) } });
      if (wait) await wait;
    }
    await writer.close();
    await db.flush();
  };
  globalThis.whole = async () => {
    for (;;) {
      const { reserve } = await db.metrics();
      if (reserve.bytes === reserve.capacity) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
};

/** From another tab the rows take another way, and all else takes that of the rows. */
const FOLLOWED = ["putRow", "batchWriteRow", "a transaction", "a writer", "importRows", "createTable"];

/**
 * Kinds that the tab that leads is asked for only where everything runs: a follower asks it for them too. And the flush: LevelDB
 * gives room back at a time of its own behind a write as large as that, and on a busy machine the flush finds it. The engine's own tests
 * have flushes that find no room (`src/engine/tests/pieces.rs`).
 */
const RARE = tier === "full" ? [] : [...FOLLOWED.slice(1), "flush"];

for (const [backend, from] of singles(BACKENDS, ["the leader", "a follower"])) {
  test(
    `Q: every kind of write fails by name on a full origin, and works by itself once space is freed (from ${from}, ${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const leader = await openPage(t, context, server);
      const limit = await engine.limit(context, leader, server, 14 * MB);
      const usage = () => leader.evaluate(async () => (await navigator.storage.estimate()).usage);
      // SQLite gives the room of its log back a while after a commit (up to 1 MB), which would be room for the write that must fail.
      const settled = async () => {
        for (let used = await usage(), same = 0; ; ) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          const now = await usage();
          same = now === used ? same + 1 : 0;
          if (same === 4) return used;
          used = now;
        }
      };
      // On a disk that stalls it comes later than any pause would tell. So it is looked for again behind a transaction.
      const room = async (bytes) => {
        for (let used = await settled(), before; used !== before; ) {
          before = used;
          await limit(used + bytes);
          assert.equal(await leader.evaluate(() => H.look(16_000_000)), "QuotaExceededError");
          used = await settled();
        }
      };
      await leader.evaluate(prepare);
      // The log of a worker is in a file, which has room (23-log-file.mjs).
      assert.equal(await leader.evaluate(open, { name: "kinds", options: { worker: false } }), "leader");
      await leader.evaluate(async () => {
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], enableLocalTransaction: true });
        const writer = db.writer("t");
        for (let id = 0; id < 1000; id++) {
          const wait = writer.put({ primaryKey: { id }, attributes: { v: id } });
          if (wait) await wait;
        }
        await writer.close();
        await db.flush();
      });
      let page = leader;
      if (from !== "the leader") {
        page = await openPage(t, context, server);
        assert.equal(await page.evaluate(open, { name: "kinds", options: { worker: false } }), "follower");
      }
      await page.evaluate(prepare);
      await page.evaluate(define);
      const longest = { took: 0 };
      const all = from === "the leader" ? (await page.evaluate(() => Object.keys(kinds))).filter((kind) => !RARE.includes(kind)) : FOLLOWED;
      for (const [at, kind] of all.entries()) {
        const id = (at + 1) * 10_000;
        await room(9 * MB);
        const wants = await leader
          .evaluate(async (at) => {
            await load(`spare${at}`, 4);
            await whole();
          }, at)
          .then(() =>
            page.evaluate(async (kind) => {
              await kinds[kind].before?.();
              await whole();
              return kinds[kind].room ?? 0;
            }, kind),
          );
        await room(wants * MB);
        const full = await page.evaluate(
          async ({ kind, id, at }) => {
            const { write, there = () => false, prepare } = kinds[kind];
            await prepare?.(id);
            const refused = [await H.refusal(() => write(id)), await H.refusal(() => write(id))];
            const stored = await there(id);
            const read = (await db.getRow({ tableName: "t", primaryKey: { id: at } })).row?.get("v");
            await db.deleteRow({ tableName: "t", primaryKey: { id: at } });
            const deleted = (await db.getRow({ tableName: "t", primaryKey: { id: at } })).row === null;
            const scanned = (await H.all(db, { tableName: "t", end: { id: 1000 } })).length;
            return { codes: refused.map(({ code }) => code), known: refused.every(({ known }) => known), stored, read, deleted, scanned };
          },
          { kind, id, at },
        );
        assert.deepEqual(full, { codes: ["QuotaExceeded", "QuotaExceeded"], known: true, stored: false, read: at, deleted: true, scanned: 999 - at }, kind);
        const freed = await page.evaluate(
          async ({ kind, id, at }) => {
            const { write, there = () => true } = kinds[kind];
            await db.deleteTable(`spare${at}`);
            const started = performance.now();
            let last;
            do {
              last = await H.refusal(() => write(id));
              if (last.refused) await new Promise((resolve) => setTimeout(resolve, 50));
            } while (last.refused && performance.now() - started < 10_000);
            return { last, stored: await there(id), took: performance.now() - started };
          },
          { kind, id, at },
        );
        assert.deepEqual([freed.last.message, freed.stored], [undefined, true], kind);
        if (freed.took > longest.took) Object.assign(longest, { took: freed.took, kind });
      }
      t.note(`the slowest to work again was ${longest.kind}, ${longest.took.toFixed(0)} ms after a table was deleted`);
    },
    { needs: ["resizing"], seconds: 120 },
  );
}
