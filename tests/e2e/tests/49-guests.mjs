// Guests: handles of a tool in one tab, whose options give way to those of the application in another one.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { open, WAYS } from "../support/tabs.mjs";

const TABLE = { tableName: "t", primaryKey: [{ name: "n", type: "INTEGER" }] };

/** A guest that leads, with a table of one row, and another page. */
async function guestFirst(t, options, prepare = () => {}) {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  await prepare(context);
  const [guest, app] = [await openPage(t, context, server), await openPage(t, context, server)];
  assert.equal(await guest.evaluate(open, { name: "shared", options: { guest: true, ...options } }), "leader");
  await guest.evaluate(async (table) => {
    await db.createTable(table);
    await db.putRow({ tableName: "t", primaryKey: { n: 1 } });
  }, TABLE);
  return { server, context, guest, app };
}

const budget = (page) => page.evaluate(async () => (await db.metrics()).memtable.budget);
const rows = (page) => page.evaluate(async () => (await db.count({ tableName: "t" })).count);

for (const [way, prepare] of turns(WAYS))
  for (const worker of turns([true, false]))
    test(`guests: an application gets its options although a guest led first (${worker ? "worker" : "in the page"}, ${way})`, async (t) => {
      const { guest, app } = await guestFirst(t, { memtableBytes: 1 << 20, worker }, prepare);
      await app.evaluate(open, { name: "shared", options: { memtableBytes: 4 << 20, worker } });
      assert.deepEqual([await app.evaluate(() => db.role), await guest.evaluate(() => db.role)], ["leader", "follower"]);
      assert.deepEqual([await budget(app), await budget(guest)], [4 << 20, 4 << 20]);
      assert.deepEqual([await rows(app), await rows(guest)], [1, 1]);
      // Both ways, live.
      await guest.evaluate(() => db.putRow({ tableName: "t", primaryKey: { n: 2 } }));
      assert.deepEqual([await rows(app), await rows(guest)], [2, 2]);
      // The guest leads again, with the options of the application.
      await app.evaluate(() => db.close());
      await guest.waitForFunction(() => db.role === "leader");
      assert.equal(await budget(guest), 4 << 20);
      assert.deepEqual(await guest.evaluate(() => health), []);
    });

test("guests: an application that gives no options gets the defaults, not those of a guest", async (t) => {
  const { guest, app } = await guestFirst(t, { memtableBytes: 1 << 20 });
  await app.evaluate(open, { name: "shared", options: {} });
  assert.deepEqual([await app.evaluate(() => db.role), await budget(app), await budget(guest)], ["leader", 8 << 20, 8 << 20]);
});

test("guests: a guest with the package's options goes on to lead an application that gives the same", async (t) => {
  const { guest, app } = await guestFirst(t, {});
  assert.equal(await app.evaluate(open, { name: "shared", options: { memtableBytes: 8 << 20 } }), "follower");
  assert.deepEqual(await guest.evaluate(() => roles), []);
});

test("guests: a guest joins the engine of an application as it is, and an application never gives way", async (t) => {
  const { server, context, guest, app } = await guestFirst(t, {});
  await guest.evaluate(() => db.close());
  assert.equal(await app.evaluate(open, { name: "shared", options: { memtableBytes: 4 << 20 } }), "leader");
  await app.evaluate(() => db.count({ tableName: "t" }));
  assert.equal(await guest.evaluate(open, { name: "shared", options: { guest: true, memtableBytes: 1 << 20 } }), "follower");
  assert.equal(await budget(guest), 4 << 20);
  const other = await openPage(t, context, server);
  const { code, message } = await other.evaluate(() => H.refusal(() => T.open("shared", { memtableBytes: 2 << 20 })));
  assert.deepEqual([code, /memtableBytes/.test(message)], ["OTSParameterInvalid", true]);
  // Nor does a guest's engine that an application uses.
  await app.evaluate(() => db.close());
  await guest.waitForFunction(() => db.role === "leader");
  assert.equal(await app.evaluate(open, { name: "shared", options: { memtableBytes: 4 << 20 } }), "follower");
  await app.evaluate(() => db.count({ tableName: "t" }));
  assert.equal((await other.evaluate(() => H.refusal(() => T.open("shared", { memtableBytes: 2 << 20 })))).code, "OTSParameterInvalid");
  assert.equal(await guest.evaluate(() => db.role), "leader");
});

test("guests: two tabs of an application that open at once both get their options from a guest, whose writes all are stored", async (t) => {
  const { server, context, guest, app } = await guestFirst(t, { partitions: { splitBytes: 1 << 18 } });
  const other = await openPage(t, context, server);
  const written = guest.evaluate(async () => {
    const writer = db.writer("t");
    for (let n = 10; n < 20_010; n++) {
      const wait = writer.put({ primaryKey: { n }, attributes: { text: H.noise(n, 50) } });
      if (wait) await wait;
    }
    return (await writer.close()).rows;
  });
  await Promise.all([app, other].map((page) => page.evaluate(open, { name: "shared", options: { memtableBytes: 4 << 20 } })));
  assert.equal(await written, 20_000);
  assert.deepEqual([await rows(app), await rows(other), await rows(guest)], [20_001, 20_001, 20_001]);
  assert.deepEqual([await budget(app), await budget(other)], [4 << 20, 4 << 20]);
  assert.equal(await guest.evaluate(() => db.role), "follower");
});
