// Imports that a full disk ends, in a browser: the rows that they report as stored are there, and no others.

import assert from "node:assert/strict";

import { BACKENDS, openLimited, reload } from "../support/browser.mjs";
import { singles, test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

for (const [backend, sorted] of singles(BACKENDS, [true, false])) {
  test(
    `Q: an import that a full disk ends tells how many rows are stored, and they are there (${sorted ? "loaded" : "in batches"}, ${backend})`,
    async (t) => {
      const server = await servePackage(t);
      // Firefox gives no origin less.
      const { page, limit } = await openLimited(t, server, 10 * 1024 * 1024, { backend });
      const ended = await page.evaluate(async (sorted) => {
        globalThis.db = await T.open("ends", { memtableBytes: 512 * 1024, cacheBytes: 512 * 1024 });
        await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        const ROWS = 9973;
        const line = (place) => {
          const id = sorted ? place : (place * 7919) % ROWS;
          return JSON.stringify({ id, twice: id * 2, noise: H.noise(id, 2000) });
        };
        const file = new Blob([Array.from({ length: ROWS }, (_, place) => line(place)).join("\n")]);
        let last;
        const error = await db.importRows("t", file, { format: "ndjson", onProgress: ({ rows }) => (last = rows) }).catch((error) => error);
        const { stored, failed, code, message, failures } = error;
        return {
          known: error instanceof T.WriterError,
          stored,
          failed,
          code,
          message,
          last,
          first: failures?.[0] && [failures[0].index, failures[0].error.code],
        };
      }, sorted);
      assert.ok(ended.known, JSON.stringify(ended));
      assert.deepEqual([ended.code, ended.last], ["QuotaExceeded", ended.stored], ended.message);
      assert.ok(ended.message.endsWith(` Rows stored: ${ended.stored}.`), ended.message);
      assert.ok(ended.stored > 0 && ended.failed > 0 && ended.first[1] === "QuotaExceeded", JSON.stringify(ended));
      const count = () =>
        page.evaluate(async () => {
          let found = 0;
          let wrong = 0;
          for (const row of await H.all(db, { tableName: "t" })) {
            found += 1;
            const { id } = row.primaryKey;
            if (row.get("twice") !== id * 2 || row.get("noise") !== H.noise(id, 2000)) wrong += 1;
          }
          return [found, wrong];
        });
      assert.deepEqual(await count(), [ended.stored, 0], "at once");
      await limit?.(undefined);
      await reload(page);
      await page.evaluate(async () => {
        globalThis.db = await H.openSoon("ends");
      });
      assert.deepEqual(await count(), [ended.stored, 0], "after a reload");
      t.note(`says: ${ended.message}`);
    },
    { needs: ["quota"] },
  );
}
