import assert from "node:assert/strict";
import { test } from "node:test";

import { type Database, open, type Row, type WatchRequest } from "tabstore";

import { Chat, summaries } from "./chat.ts";
import { History } from "./history.ts";

/** Opens a chat in memory. */
async function opened(t: { after(undo: () => Promise<void>): void }): Promise<{ db: Database; chat: Chat }> {
  const db = await open("chat", { storage: "memory" });
  t.after(() => db.close());
  return { db, chat: await Chat.open(db) };
}

/** Follows a live query, as a page does. */
function follow(db: Database, query: WatchRequest): { rows: () => readonly Row[]; end: () => void } {
  const live = db.watch(query);
  const end = live.subscribe(() => {});
  return { rows: () => live.getSnapshot().rows ?? [], end };
}

/** What a user's list of conversations says, once it says something like `wanted`. */
async function says(db: Database, user: string, wanted: Record<string, number>): Promise<void> {
  const [memberships, inbox] = [follow(db, Chat.memberships(user)), follow(db, Chat.inbox(user))];
  const unread = () => Object.fromEntries(summaries(user, memberships.rows(), inbox.rows()).map((one) => [one.room, one.unread]));
  for (const end = performance.now() + 5000; performance.now() < end && JSON.stringify(unread()) !== JSON.stringify(wanted); )
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(unread(), wanted);
  for (const { end } of [memberships, inbox]) end();
}

const textsOf = (history: History) => history.entries.map(({ message: { from, kind, text } }) => (kind === "join" ? `${from} joined` : `${from}: ${text}`));

test("L3: a message is in the conversation once, and in the inbox of every member", async (t) => {
  const { db, chat } = await opened(t);
  for (const user of ["ann", "bob"]) await chat.join(user, "lunch");
  await chat.join("ann", "work");
  await chat.send("ann", "lunch", "Noon?");
  await chat.send("bob", "lunch", "Yes.");
  await chat.send("ann", "lunch", "Fine.");
  const history = new History(chat.historyOf("lunch"));
  await history.newest();
  assert.deepEqual(textsOf(history), ["ann joined", "bob joined", "ann: Noon?", "bob: Yes.", "ann: Fine."]);
  // Own messages count as read; so does what was said elsewhere.
  await says(db, "ann", { lunch: 1, work: 0 });
  await says(db, "bob", { lunch: 2 });
  const [summary] = summaries("bob", (await db.getRange(Chat.memberships("bob"))).rows, (await db.getRange(Chat.inbox("bob"))).rows);
  assert.equal(summary?.last?.text, "Fine.");
  assert.equal(summary?.last?.id, history.entries.at(-1)?.sequenceId);
});

test("L3: who comes back finds the first message behind the last read id, and the count of the others", async (t) => {
  const { db, chat } = await opened(t);
  for (const user of ["ann", "bob"]) await chat.join(user, "lunch");
  await chat.join("bob", "other");
  await chat.send("ann", "lunch", "one");
  const delivered = await chat.inboxOf("bob").getLatestSequenceId();
  await chat.markRead("bob", "lunch", delivered);
  await says(db, "bob", { lunch: 0, other: 0 });
  assert.equal(await chat.firstUnread("bob", "lunch"), undefined);

  await chat.send("bob", "lunch", "two");
  for (const text of ["three", "four"]) await chat.send("ann", "lunch", text);
  await says(db, "bob", { lunch: 2, other: 0 });
  const first = await chat.firstUnread("bob", "lunch");
  assert.ok(first !== undefined);
  assert.equal((await chat.historyOf("lunch").get(first))?.message.text, "three");
  assert.equal(await chat.firstUnread("bob", "other"), undefined);

  // A tab that is late does not make read messages unread again.
  await chat.markRead("bob", "lunch", await chat.inboxOf("bob").getLatestSequenceId());
  await chat.markRead("bob", "lunch", delivered);
  await says(db, "bob", { lunch: 0, other: 0 });
});

test("L2, L3: a history is read in both directions, from its end or from a message on, and takes what arrives", async (t) => {
  const { chat } = await opened(t);
  await chat.join("ann", "long");
  const said = Array.from({ length: 95 }, (_, at) => ({ message: { from: "ann", kind: "text", text: String(at), at } as const }));
  const stored = await chat.historyOf("long").batchStore(said);
  const whole = ["ann joined", ...said.map(({ message }) => `ann: ${message.text}`)];

  const back = new History(chat.historyOf("long"), 40);
  await back.newest();
  assert.deepEqual([textsOf(back), back.hasOlder, back.hasNewer], [whole.slice(-40), true, false]);
  // Two at once bring two pages, not one twice; a message arrives meanwhile.
  await Promise.all([back.older(), back.older(), chat.send("ann", "long", "new")]);
  await back.newer();
  assert.deepEqual([textsOf(back), back.hasOlder, back.hasNewer], [[...whole, "ann: new"], false, false]);

  const middle = new History(chat.historyOf("long"), 40);
  const { sequenceId = 0 } = stored[50] ?? {};
  await middle.around(sequenceId);
  assert.deepEqual([textsOf(middle)[40], middle.entries.length, middle.hasOlder, middle.hasNewer], ["ann: 50", 80, true, true]);
  await Promise.all([middle.newer(), middle.older()]);
  assert.deepEqual([textsOf(middle), middle.hasOlder, middle.hasNewer], [[...whole, "ann: new"], false, false]);

  const start = new History(chat.historyOf("long"), 40);
  await start.oldest();
  assert.deepEqual([textsOf(start), start.hasOlder, start.hasNewer], [whole.slice(0, 40), false, true]);
  while (start.hasNewer) await start.newer();
  assert.deepEqual(textsOf(start), [...whole, "ann: new"]);
  // What arrives at the shown end is lacking until it is read; in the middle nothing lacks, because newer pages are to come.
  const { message } = (await chat.inboxOf("ann").getLatestTimelineEntry()) ?? {};
  assert.ok(message !== undefined);
  assert.deepEqual([start.lacks(message.id), start.lacks(undefined)], [false, false]);
  await chat.send("ann", "long", "newest");
  const { message: arrived } = (await chat.inboxOf("ann").getLatestTimelineEntry()) ?? {};
  assert.equal(start.lacks(arrived?.id), true);
  await start.newer();
  assert.deepEqual([start.lacks(arrived?.id), textsOf(start).at(-1)], [false, "ann: newest"]);
  await start.oldest();
  assert.deepEqual([start.lacks(arrived?.id), start.hasNewer], [false, true]);

  const empty = new History(chat.historyOf("nobody"));
  await empty.newest();
  assert.deepEqual([empty.entries, empty.hasOlder, empty.hasNewer, empty.lacks(1)], [[], false, false, true]);
});

test("L3: who joins late reads all that was said before, and hears what is said from then on", async (t) => {
  const { db, chat } = await opened(t);
  for (const user of ["ann", "bob"]) await chat.join(user, "lunch");
  for (let at = 0; at < 50; at++) await chat.send(at % 2 === 0 ? "ann" : "bob", "lunch", String(at));
  // Two tabs of one user come at once, and one of them is told.
  await Promise.all([chat.join("eve", "lunch"), chat.join("eve", "lunch")]);
  await says(db, "eve", { lunch: 0 });
  const history = new History(chat.historyOf("lunch"));
  await history.newest();
  while (history.hasOlder) await history.older();
  assert.equal(history.entries.length, 53);
  await chat.send("bob", "lunch", "Welcome!");
  await says(db, "eve", { lunch: 1 });
  await history.newer();
  assert.equal(textsOf(history).at(-1), "bob: Welcome!");
  // To join again changes nothing.
  await chat.join("eve", "lunch");
  await says(db, "eve", { lunch: 1 });
  assert.deepEqual(
    (await db.getRange(Chat.membersOf("lunch"))).rows.map(({ primaryKey }) => primaryKey.user),
    ["ann", "bob", "eve"],
  );
});
