// The two kinds of instance, in Chromium: the same rows, and their memory and space.

import assert from "node:assert/strict";

import { newProfile, openPage, reload, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const KINDS = ["high-performance", "capacity"];
const ROWS = 8000;

/** Fills an instance of a kind with what devices report and with what people note about customers. */
async function fill({ instance, kind, rows }) {
  const WORDS =
    "river station morning pressure cloud window harbour signal bridge valley copper engine garden winter marble paper thunder orange silver market pencil forest mountain island kitchen lantern".split(
      " ",
    );
  let state = 7;
  const random = (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % most;
  };
  const words = (count) => Array.from({ length: count }, () => WORDS[random(WORDS.length)]).join(" ");
  const db = await T.open(instance, { kind });
  const primaryKey = [{ name: "id", type: "INTEGER" }];
  for (const tableName of ["reports", "notes"]) await db.createTable({ tableName, primaryKey });
  const reports = db.writer("reports");
  const notes = db.writer("notes");
  let at = 1_700_000_000_000;
  for (let id = 0; id < rows; id++) {
    at += 60_000 + random(5) * 1000;
    await reports.put({
      primaryKey: { id },
      attributes: {
        at,
        device: `device-${random(40)}`,
        level: 70 + random(9),
        state: ["on", "on", "idle", "off"][random(4)],
        temperature: 18 + random(80) / 10,
      },
    });
    await notes.put({
      primaryKey: { id },
      attributes: { name: words(2), city: words(1), note: words(12), count: random(1_000_000), price: random(100_000) / 8 },
    });
  }
  await reports.close();
  await notes.close();
  // A compaction that a close cuts off would leave segments behind until the next opening.
  await db.compact();
  await db.close();
}

/** The stored and held bytes, and all rows, as one number. */
async function look({ instance, rows }) {
  const db = await H.openSoon(instance);
  let sum = 0;
  for (const tableName of ["reports", "notes"]) {
    let id = 0;
    for (const row of await H.all(db, { tableName })) {
      if (row.primaryKey.id !== id++) throw new Error(`row ${row.primaryKey.id}`);
      for (const character of JSON.stringify(row.toObject())) sum = (Math.imul(sum, 31) + character.codePointAt(0)) >>> 0;
    }
    if (id !== rows) throw new Error(`${id} rows`);
  }
  const { kind, segments, cache } = await db.metrics();
  await db.close();
  let blocks = 0;
  for (const key of await H.rawKeys(instance, "blocks")) blocks += (await H.rawGet(instance, "blocks", key)).byteLength;
  return { kind, segments: segments.bytes, blocks, cache, sum };
}

test("I4: of the same rows a capacity instance stores at most 0.7 times the bytes and holds at most half the cache; both show the same after a reload", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t, { profile: newProfile(t) }), server);
  for (const kind of KINDS) await page.evaluate(fill, { instance: kind, kind, rows: ROWS });
  await reload(page);
  const seen = [];
  for (const instance of KINDS) seen.push(await page.evaluate(look, { instance, rows: ROWS }));
  const [fast, dense] = seen;
  assert.deepEqual(
    seen.map(({ kind }) => kind),
    KINDS,
  );
  assert.equal(fast.sum, dense.sum, "the same rows");
  t.note(`${fast.blocks} and ${dense.blocks} bytes in IndexedDB: ${(dense.blocks / fast.blocks).toFixed(2)} x`);
  for (const bytes of ["segments", "blocks"]) assert.ok(dense[bytes] <= 0.7 * fast[bytes], `${bytes}: ${dense[bytes]} of ${fast[bytes]}`);
  assert.ok(dense.cache.capacity <= fast.cache.capacity / 2, "the cache's limit");
  for (const { cache } of seen) assert.ok(cache.bytes <= cache.capacity, "no more is held");
});
