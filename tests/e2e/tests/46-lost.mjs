// Instances that the browser has lost: told by name, wherever a witness survives.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

/** In the page: an instance with one row, closed; and the ways in which a browser loses it. */
const prepare = () => {
  const done = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  globalThis.L = {
    async fill(name, options) {
      const db = await T.open(name, options);
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
      await db.close();
    },
    /** The tables of an instance, or why it cannot be opened. */
    async tables(name, options) {
      try {
        const db = await T.open(name, options);
        const tables = await db.listTable();
        await db.close();
        return tables;
      } catch ({ code, status, message, hint }) {
        return { code, status, message, hint };
      }
    },
    remove: (name) => done(indexedDB.deleteDatabase(name)),
    async empty(name) {
      const database = await done(indexedDB.open(name));
      const stores = [...database.objectStoreNames];
      const transaction = database.transaction(stores, "readwrite");
      for (const store of stores) transaction.objectStore(store).clear();
      await new Promise((resolve) => (transaction.oncomplete = resolve));
      database.close();
    },
    /** Makes the row of an instance as older versions wrote it. */
    async age(key) {
      const database = await done(indexedDB.open("tabstore"));
      const store = database.transaction("instances", "readwrite").objectStore("instances");
      const { opened, ...row } = await done(store.get(key));
      await done(store.put(row, key));
      database.close();
      return opened;
    },
  };
};

for (const worker of turns([true, false])) {
  test(`DataLost: an instance whose database is gone or empty is not opened as a new one without a word (worker: ${worker})`, async (t) => {
    const page = await openPage(t, await startBrowser(t), await servePackage(t));
    await page.evaluate(prepare);
    const seen = await page.evaluate(async (worker) => {
      const seen = {};
      for (const how of ["remove", "empty"]) {
        await L.fill("Mine", { worker });
        await L[how]("tabstore/mine");
        const first = await L.tables("mine", { worker });
        const again = await L.tables("mine", { worker, create: false });
        const listed = (await T.listInstances()).length;
        const anew = await L.tables("mine", { worker, lost: "recreate" });
        const then = await L.tables("mine", { worker });
        seen[how] = { first, code: again.code, listed, anew, then };
        await T.deleteInstance("mine");
      }
      return seen;
    }, worker);
    for (const how of ["remove", "empty"]) {
      const { first, ...rest } = seen[how];
      assert.deepEqual(rest, { code: "DataLost", listed: 1, anew: [], then: [] }, how);
      assert.deepEqual([first.code, first.status], ["DataLost", 410]);
      assert.match(first.message, /lost the data of the instance 'mine'/i);
      assert.match(first.hint, /lost: "recreate"/);
    }
  });

  test(
    `DataLost: a file tells of an instance whose list is gone too (worker: ${worker})`,
    async (t) => {
      const page = await openPage(t, await startBrowser(t), await servePackage(t));
      await page.evaluate(prepare);
      const seen = await page.evaluate(async (worker) => {
        await L.fill("mine", { worker });
        await L.remove("tabstore/mine");
        await L.remove("tabstore");
        const first = [
          (await L.tables("MINE", { worker })).code,
          (await L.tables("mine", { worker, create: false })).code,
          (await L.tables("other", { worker, create: false })).code,
        ];
        const anew = await L.tables("mine", { worker, lost: "recreate" });
        return { first, anew, then: await L.tables("mine", { worker }) };
      }, worker);
      assert.deepEqual(seen, { first: ["DataLost", "DataLost", "OTSObjectNotExist"], anew: [], then: [] });
    },
    { needs: ["storage"] },
  );
}

test("DataLost: what was deleted, never opened, or written by an older version is not lost", async (t) => {
  const page = await openPage(t, await startBrowser(t), await servePackage(t));
  await page.evaluate(prepare);
  const seen = await page.evaluate(async () => {
    await L.fill("mine");
    await T.deleteInstance("mine");
    const deleted = await L.tables("mine");
    // A deletion that a crash has stopped half way.
    await L.age("mine");
    await L.remove("tabstore/mine");
    const halfDeleted = await L.tables("mine");
    await T.createInstance("fresh");
    const fresh = await L.tables("fresh");
    await L.fill("old");
    const [before, , after] = [await L.age("old"), await L.tables("old"), await L.age("old")];
    const old = await L.tables("old");
    // A lost instance can be deleted, and forgotten.
    await L.fill("gone");
    await L.remove("tabstore/gone");
    await L.remove("tabstore");
    const refused = await H.refusal(() => T.deleteInstance("gone"));
    return { deleted, halfDeleted, fresh, before, after, old, refused: refused.code, gone: await L.tables("gone") };
  });
  assert.deepEqual(seen, { deleted: [], halfDeleted: [], fresh: [], before: true, after: true, old: ["t"], refused: "OTSObjectNotExist", gone: [] });
});

test("DataLost: a wrong value of lost is refused by name", async (t) => {
  const page = await openPage(t, await startBrowser(t), await servePackage(t));
  const refused = await page.evaluate(() => H.refusal(() => T.open("mine", { lost: "ignore" })));
  assert.match(refused.message, /'lost' is 'ignore'; it must be one of refuse, recreate/);
});

test("deleteInstance: what a worker has just closed, or refused to open, is deleted each time: no connection stays behind it", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const codes = await page.evaluate(async () => {
    const codes = [];
    for (let i = 0; i < 10; i++) {
      const name = `deleted-${i}`;
      for (let again = 0; again < 2; again++) {
        const db = await T.open(name, { worker: true });
        if (again === 0) await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
        await db.close();
      }
      if (i % 2 === 0) {
        // The browser deletes it once nobody is connected.
        await new Promise((resolve) => (indexedDB.deleteDatabase(`tabstore/${name}`).onsuccess = resolve));
        codes.push((await H.refusal(() => T.open(name, { worker: true }))).code);
      }
      await T.deleteInstance(name);
    }
    return codes;
  });
  assert.deepEqual(
    codes,
    Array.from({ length: 5 }, () => "DataLost"),
  );
});
