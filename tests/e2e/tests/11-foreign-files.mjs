// Real texts in many scripts, imported and written by a page and by its worker, and compared with the files after a reload.

import assert from "node:assert/strict";

import { openPage, reload, startBrowser } from "../support/browser.mjs";
import { compareRows, figures, foreignFiles, told } from "../support/foreign-files.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

/** Imports a file as it is downloaded, and puts its rows by writers, each for a few of them. */
async function store({ worker, file: { name, tableName, primaryKey } }) {
  const db = await H.openSoon("foreign", { worker });
  const tables = [`${tableName}_file`, `${tableName}_pieces`];
  for (const tableName of tables) await db.createTable({ tableName, primaryKey });
  const { rows, skipped, failures } = await db.importRows(tables[0], await fetch(`/foreign/${name}`));
  const all = await (await fetch(`/foreign/${name}.rows`)).json();
  let written = 0;
  for (let at = 0, size = 20; at < all.length; at += size, size = 20 + ((size * 7) % 61)) {
    const writer = db.writer(tables[1]);
    for (const row of all.slice(at, at + size)) {
      const full = writer.put(row);
      if (full) await full;
    }
    written += (await writer.close()).rows;
  }
  await db.close();
  return { tables, rows, skipped, failures, written };
}

async function read({ worker, tableName }) {
  const db = await H.openSoon("foreign", { worker });
  const rows = (await H.all(db, { tableName })).map((row) => ({
    primaryKey: row.primaryKey,
    attributes: Object.fromEntries(Object.keys(row.columns).map((name) => [name, row.get(name)])),
  }));
  await db.close();
  return JSON.stringify(rows);
}

for (const worker of turns([true, false])) {
  test(
    `D2: real texts in more than ten scripts are stored as the files say, byte by byte, also after a reload (${worker ? "worker" : "in the page"})`,
    async (t) => {
      const files = await foreignFiles();
      const server = await servePackage(t);
      for (const { name, rows, bytes } of files) {
        server.files.set(`/foreign/${name}`, bytes);
        server.files.set(`/foreign/${name}.rows`, JSON.stringify(rows));
      }
      const context = await startBrowser(t);
      const page = await openPage(t, context, server);
      const stored = [];
      for (const { name, tableName, primaryKey, rows: expected } of files) {
        const { tables, rows, skipped, failures, written } = await page.evaluate(store, { worker, file: { name, tableName, primaryKey } });
        assert.deepEqual([rows, skipped, failures, written], [expected.length, 0, [], expected.length], name);
        stored.push(tables);
      }
      await reload(page);
      let compared = 0;
      for (const [place, { name, rows: expected }] of files.entries()) {
        for (const tableName of stored[place])
          compared += compareRows(expected, JSON.parse(await page.evaluate(read, { worker, tableName })), `${name} in ${tableName}`);
      }
      const all = figures(files.flatMap(({ rows }) => rows));
      assert.ok(files.length >= 5 && all.scripts.size >= 10, told(all));
      t.note(`${files.length} files: ${told(all)}; ${compared} bytes of texts compared`);
    },
    { seconds: 180 },
  );
}
