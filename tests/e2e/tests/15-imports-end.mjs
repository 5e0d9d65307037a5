// Imports that end early, in a browser. A full disk: the rows that they report as stored are there, and no others. A tab that closes:
// those of other tabs wait for it no longer.

import assert from "node:assert/strict";

import { BACKENDS, openLimited, reload } from "../support/browser.mjs";
import { singles, test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { tabs } from "../support/tabs.mjs";

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

/** Begins a merge whose source is written by `source`. Its result is `merged`: the rows, or the code of an error. */
const beginMerge = (text) => {
  const { readable, writable } = new TransformStream(undefined, { highWaterMark: 1000 });
  globalThis.source = writable.getWriter();
  globalThis.merged = db.importInstance(readable, { existing: "merge" }).then(
    ({ rows }) => rows,
    ({ code, message }) => `${code}: ${message}`,
  );
  source.write(new TextEncoder().encode(text));
};
const endMerge = (text) => {
  source.write(new TextEncoder().encode(text));
  source.close();
};

test("V6: merges of two tabs have their turns, and a tab that closes in the middle of its own gives its turn on", async (t) => {
  const { one, two } = await tabs(t);
  const text = await one.evaluate(async () => {
    const old = Date.now() - 50 * 86_400_000;
    const from = await T.open("from");
    for (const [database, maxVersionOffset] of [
      [from, 10_000_000],
      [db, 3600],
    ])
      await database.createTable({ tableName: "old", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersionOffset });
    for (let id = 0; id < 3; id++) await from.putRow({ tableName: "old", primaryKey: { id }, attributes: { a: [{ value: "old", version: old }] } });
    const text = await new Response(await from.exportInstance()).text();
    await from.close();
    return text;
  });
  const lines = text.split("\n");
  const [begin, rest] = [lines.slice(0, 3).join("\n"), `\n${lines.slice(3).join("\n")}`];
  await one.evaluate(beginMerge, begin);
  await two.evaluate(beginMerge, begin);
  await one.evaluate(endMerge, rest);
  assert.equal(await one.evaluate(() => merged), 3);
  await two.evaluate(endMerge, rest);
  assert.equal(await two.evaluate(() => merged), 3);
  assert.equal(await two.evaluate(async () => (await db.describeTable("old")).maxVersionOffset), 3600);
  await one.evaluate(beginMerge, begin);
  // It has its turn when it asks for more than its first line.
  await one.waitForFunction(() => navigator.locks.query().then(({ held }) => held.some(({ name }) => name === "tabstore/import/shared")));
  await two.evaluate(beginMerge, begin);
  await two.evaluate(endMerge, rest);
  await two.waitForFunction(() => navigator.locks.query().then(({ pending }) => pending.some(({ name }) => name === "tabstore/import/shared")));
  await one.close({ runBeforeUnload: false });
  assert.equal(await two.evaluate(() => merged), 3);
});
