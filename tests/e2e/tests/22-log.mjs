// The log that an opening has to replay is bounded. The browser's own interface counts it, after tabs were killed.

import assert from "node:assert/strict";

import { BACKENDS, openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

/** Puts of which each is a record, for the engine flushes a long log, and so many records that it may leave all the same. */
const PUTS = 4000;
const MOST = 2000;
/** And so many are left by a close: they are not worth a segment. */
const LITTLE = 230;

for (const backend of BACKENDS) {
  test(
    `Q: however many awaited puts came before a tab was killed, the log is short, and shorter after a close (${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const first = await openPage(t, context, server);
      await first.evaluate(async (puts) => {
        const db = await T.open("log");
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        for (let id = 0; id < puts; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: H.noise(id, 60) } });
      }, PUTS);
      await engine.kill(context, first);

      const second = await openPage(t, context, server);
      const left = await second.evaluate(async (puts) => {
        const killed = (await H.rawKeys("log", "log")).length;
        const db = await H.openSoon("log");
        const { row } = await db.getRow({ tableName: "t", primaryKey: { id: puts - 1 } });
        const { rows } = await db.getRange({ tableName: "t", start: { id: 0 }, end: { id: puts } });
        for (let id = puts; id < puts + 500; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: {} });
        await db.close();
        return { last: row !== null, rows: rows.length, killed, closed: (await H.rawKeys("log", "log")).length };
      }, PUTS);
      assert.ok(left.last && left.rows === PUTS, JSON.stringify(left));
      assert.ok(left.killed <= MOST, `${left.killed} log records after a kill`);
      assert.ok(left.closed <= LITTLE, `${left.closed} log records after a close`);
      t.note(`${PUTS} puts and a kill leave ${left.killed} log records, a close ${left.closed}`);
    },
    { needs: ["crash"] },
  );
}

test("Q: what is worth it is flushed when nothing was written for a while, though nobody closes", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const { before, rows, log } = await page.evaluate(async () => {
    const db = await T.open("quiet");
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    await Promise.all(Array.from({ length: 12_000 }, (_, id) => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { n: id } })));
    const before = (await db.metrics()).work.flushes;
    // The harness ends a test that waits for ever.
    for (;;) {
      const { memtable, log, work } = await db.metrics();
      if (work.flushes > before) return { before, rows: memtable.entries, log: log.records };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  assert.deepEqual([before, rows], [0, 0]);
  assert.ok(log <= 3, `${log} log records`);
});
