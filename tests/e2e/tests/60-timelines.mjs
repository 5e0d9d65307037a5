// Timelines in tabs that share an instance: what one tab stores the others read, whoever leads.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { led } from "../support/tabs.mjs";

/** Opens the chat in a page: conversations, inboxes and what is known of rooms. Gives the page's part. */
const openChat = async () => {
  const { timelines } = await import("/pkg/timeline.js");
  globalThis.db = await T.open("chat");
  const { createTimelineStore, createMetaStore } = timelines(db);
  const identifier = (name) => [{ name, type: "STRING" }];
  globalThis.rooms = createTimelineStore({ tableName: "message", identifier: identifier("room"), lists: ["mentions"], allowChosen: true });
  globalThis.inboxes = createTimelineStore({ tableName: "inbox", identifier: identifier("user") });
  globalThis.metas = createMetaStore({
    tableName: "room",
    identifier: identifier("room"),
    definedColumns: [{ name: "owner", type: "STRING" }],
    indexes: [{ indexName: "room_by_owner", primaryKey: ["owner"] }],
  });
  // All tabs do this at once.
  await Promise.all([rooms.prepareTables(), inboxes.prepareTables(), metas.prepareTables()]);
  globalThis.lobby = rooms.createTimelineQueue({ room: "lobby" });
  globalThis.texts = async (entries) => {
    const found = [];
    for await (const { message } of entries) found.push(message.text);
    return found;
  };
  return db.role;
};

async function twoTabs(t) {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  const [one, two] = [await openPage(t, context, server), await openPage(t, context, server)];
  const roles = await Promise.all([one.evaluate(openChat), two.evaluate(openChat)]);
  assert.deepEqual(roles.toSorted(), ["follower", "leader"]);
  return roles[0] === "leader" ? { leader: one, follower: two } : { leader: two, follower: one };
}

test("L1, L2: timelines and metas in two tabs, with a reload of each", async (t) => {
  const { leader, follower } = await twoTabs(t);
  const seen = await follower.evaluate(async () => {
    const message = { From: "Alice", To: "Bob", Message: "Hello World", Date: "2018-07-17 09:00:00" };
    for (const sequenceId of [1, 2, 10, 20]) await lobby.store({ text: String(sequenceId) }, { sequenceId });
    const id = await lobby.store({ text: "by the store", mentions: ["bob", "é"] });
    await lobby.store(message, { sequenceId: 100001 });
    await lobby.update(id, { edited: true });
    const results = await lobby.batchStore(Array.from({ length: 300 }, (_, n) => ({ message: { text: `batch ${n}` } })));
    for (let n = 0; n < 1000; n++) {
      const wait = lobby.storeAsync({ text: `later ${n}` });
      if (wait) await wait;
    }
    await rooms.flush();
    for (const [room, owner] of [
      ["lobby", "ann"],
      ["office", "bob"],
      ["garden", "ann"],
    ])
      await metas.insert({ room }, { owner, title: `The ${room}` });
    const refused = await H.refusal(() => lobby.get(-1));
    const page = await lobby.page({ direction: "BACKWARD", maxCount: 3 });
    return {
      id,
      stored: results.filter(({ ok }) => ok).length,
      known: refused.known,
      code: refused.code,
      page: page.entries.map(({ message }) => message.text),
      token: page.token,
    };
  });
  assert.ok(seen.id > 20);
  assert.deepEqual(
    { ...seen, id: 0, token: "" },
    { id: 0, stored: 300, known: true, code: "OTSParameterInvalid", page: ["later 999", "later 998", "later 997"], token: "" },
  );
  const read = async (token) => {
    const titles = [];
    for await (const { meta } of metas.search({ where: { owner: "ann" } })) titles.push(meta.title);
    return {
      first: await texts(lobby.scanForward({ maxCount: 4 })),
      edited: await lobby.get(100001),
      titles,
      all: (await texts(lobby.scanForward({ maxCount: Infinity }))).length,
      next: (await lobby.page({ token, maxCount: 2 })).entries.map(({ message }) => message.text),
    };
  };
  const expected = {
    first: ["1", "2", "10", "20"],
    edited: { sequenceId: 100001, message: { From: "Alice", To: "Bob", Message: "Hello World", Date: "2018-07-17 09:00:00" } },
    titles: ["The garden", "The lobby"],
    all: 1306,
    next: ["later 996", "later 995"],
  };
  assert.deepEqual(await leader.evaluate(read, seen.token), expected);
  for (const page of [leader, follower]) {
    await page.reload();
    await page.waitForFunction(() => globalThis.T !== undefined);
    await page.evaluate(openChat);
    assert.deepEqual(await page.evaluate(read, seen.token), expected, "after a reload");
  }
  assert.deepEqual(await leader.evaluate(async (id) => (await lobby.get(id)).message, seen.id), { edited: true, mentions: ["bob", "é"], text: "by the store" });
});

test("L3, L2: a chat of two tabs, by a store queue and by sync queues, goes on when the leader's tab is closed", async (t) => {
  const { leader, follower } = await twoTabs(t);
  const say = async ([who, from, to]) => {
    const ids = [];
    for (let n = from; n < to; n++) {
      ids.push(await lobby.store({ from: who, text: `${who} ${n}` }));
      const results = await inboxes.fanOut(
        ["ann", "bob", "eve"].map((user) => ({ user })),
        { from: who, text: `${who} ${n}` },
      );
      if (!results.every(({ ok }) => ok)) throw new Error("a receiver was left out");
    }
    return ids;
  };
  // A reader that pulls all the time, in the tab that follows.
  await follower.evaluate(() => {
    globalThis.writing = true;
    globalThis.pulled = (async () => {
      const ids = [];
      for (let last = false; !last; ) {
        last = !writing;
        for await (const { sequenceId } of lobby.scanForward({ after: ids.at(-1) ?? 0, maxCount: Infinity })) ids.push(sequenceId);
        await new Promise((resolve) => setTimeout(resolve));
      }
      return ids;
    })();
  });
  const both = await Promise.all([leader.evaluate(say, ["ann", 0, 50]), follower.evaluate(say, ["bob", 0, 50])]);
  for (const ids of both)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
      "each tab's ids grow",
    );
  assert.equal(new Set(both.flat()).size, 100);
  const pulled = await follower.evaluate(() => {
    globalThis.writing = false;
    return pulled;
  });
  assert.deepEqual(
    pulled,
    both.flat().toSorted((a, b) => a - b),
    "no message was passed over",
  );
  // A reader that has seen some of it pulls the rest.
  const pull = async (after) => {
    const got = [];
    for await (const { sequenceId, message } of lobby.scanForward({ after, maxCount: Infinity })) got.push([sequenceId, message.text]);
    return got;
  };
  const before = await follower.evaluate(pull, 0);
  assert.equal(before.length, 100);
  const going = follower.evaluate(say, ["bob", 50, 100]);
  await leader.close();
  await going;
  assert.deepEqual(await led([follower]), ["leader"]);
  const after = await follower.evaluate(pull, before.at(-1)[0]);
  assert.deepEqual(
    after.map(([, text]) => text),
    Array.from({ length: 50 }, (_, n) => `bob ${n + 50}`),
    "each message once, in order",
  );
  for (const user of ["ann", "bob", "eve"]) {
    const inbox = await follower.evaluate((user) => texts(inboxes.createTimelineQueue({ user }).scanForward({ maxCount: Infinity })), user);
    for (const who of ["ann", "bob"]) {
      const count = who === "ann" ? 50 : 100;
      assert.deepEqual(
        inbox.filter((text) => text.startsWith(who)),
        Array.from({ length: count }, (_, n) => `${who} ${n}`),
        `${user}'s messages of ${who}`,
      );
    }
  }
});
