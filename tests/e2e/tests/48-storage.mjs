// The space of an instance and of its origin, and the promise to keep it.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

test(
  "storage and persist: the instance's bytes, and the browser's own answers",
  async (t) => {
    const page = await openPage(t, await startBrowser(t), await servePackage(t));
    const { info, estimate, asked, persisted } = await page.evaluate(async () => {
      const db = await T.open("space");
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = 0; id < 200; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { s: H.noise(id, 5000) } });
      await db.flush();
      await db.compact();
      const info = await db.storage();
      const estimate = await navigator.storage.estimate();
      // Headless browsers refuse.
      const asked = await db.persist();
      const { persisted } = await db.storage();
      await db.close();
      return { info, estimate, asked, persisted };
    });
    assert.ok(info.live > 500_000 && info.live < 1_500_000, `${info.live}`);
    assert.ok(info.garbage < 1000, `${info.garbage}: estimated`);
    assert.equal(info.quota, estimate.quota);
    assert.ok(info.used >= info.live, `${info.used} of the origin, ${info.live} of the instance`);
    assert.equal(info.persisted, false);
    assert.equal(persisted, asked);
    t.note(JSON.stringify(info));
  },
  { needs: ["storage"] },
);
