/** Administrative calls of followers when the leader goes: changes are asked for again, and each is done once. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import type { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { TabStoreError } from "../src/types/errors.js";
import { follower, leaders, type Setup } from "./support/succession.js";
import { checked, WaitingTab } from "./support/tab.js";
import { until } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

const turn = (ms = 20): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const refused =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof TabStoreError && error.code === code;
const table = (tableName: string) => ({ tableName, primaryKey: [{ name: "id", type: "INTEGER" as const }] });
const put = (id: number) => ({ tableName: "t", primaryKey: { id } });
const never = (): Promise<never> => new Promise(() => {});
const failure = (code: string, message = "it ends"): TabStoreError => new TabStoreError({ code, status: 503, retryable: false, message });

afterEach(undoAll);

const key = (id: string) => ({ accessKeyId: id, accessKeySecret: `secret of ${id}` });
const silent: Setup = (engine) => {
  engine.tells = false;
  engine.admin = (op) => (op === "createAccessKey" ? key("one") : undefined);
};

test("changes that a leader has done, and not told, are asked again under their numbers and in order: they are done once, with their answers", async () => {
  const { db, first, lead } = await follower(silent);
  const changes = [db.createTable(table("a")), db.deleteTable("a"), db.createAccessKey({ rights: ["read"] }), db.createTable(table("a"))];
  await until(() => first.session()?.done.length === 4);
  const one = first.session();
  assert.deepEqual(one.done, ["createTable", "deleteTable", "createAccessKey", "createTable"]);
  assert.ok(
    one.numbers.every((number, i) => number! > (one.numbers[i - 1] ?? 0)),
    `${one.numbers}`,
  );
  first.leader.stop();
  // The next one goes before it has answered, too.
  const second = lead((engine) => (engine.tells = false));
  await until(() => second.session()?.calls.length === 4);
  second.leader.stop();
  const third = lead((engine) => (engine.admin = () => key("another")));
  const answers = await Promise.all(changes);
  assert.deepEqual(answers[2], key("one"));
  for (const { session } of [second, third]) {
    assert.deepEqual([session().numbers, session().calls.map(([op]) => op), session().done], [one.numbers, one.calls.map(([op]) => op), []]);
  }
});

test("a change that the leader has not done is done by the next one, and one that was never asked keeps its turn", async () => {
  const { db, first, lead } = await follower((engine) => (engine.admin = never));
  const create = db.createTable(table("a"));
  await turn();
  first.leader.stop();
  const second = lead();
  // Nobody has heard of it yet.
  const index = db.createIndex({ tableName: "a", index: { indexName: "i", primaryKey: ["id"] } });
  await Promise.all([create, index]);
  assert.deepEqual(second.session().done, ["createTable", "createIndex"]);
});

for (const code of ["Closed", "LeaderChanged"]) {
  test(`${code} is no answer of a leader that ends to a change: the next one is asked`, async () => {
    const { db, first, lead } = await follower((engine) => (engine.admin = () => Promise.reject(failure(code))));
    const create = db.createTable(table("a"));
    const drop = db.dropIndex({ tableName: "a", indexName: "i" });
    await turn();
    await first.leader.close();
    const second = lead();
    await Promise.all([create, drop]);
    assert.deepEqual(second.session().done, ["createTable", "dropIndex"]);
  });
}

test("reads are asked again without a word, and have no number", async () => {
  const { db, first, lead } = await follower((engine) => (engine.admin = never));
  const reads = [db.listTable(), db.listAccessKeys(), db.computeStorage("a"), db.missing(), db.flush(), db.compact()];
  await turn();
  first.leader.stop();
  const second = lead((engine) => (engine.admin = (op) => (op === "listTable" ? ["a"] : [])));
  assert.deepEqual((await Promise.all(reads))[0], ["a"]);
  assert.ok([...first.session().numbers, ...second.session().numbers].every((number) => number === undefined));
});

test("a change that is refused has an answer, and each further try is another request", async () => {
  let tries = 0;
  const { db, first, lead } = await follower(
    (engine) =>
      (engine.admin = () => {
        if (++tries < 3) throw failure("OTSQuotaExhausted", "Too frequent table operations.");
      }),
  );
  await db.createTable(table("a"));
  const { numbers } = first.session();
  assert.equal(new Set(numbers).size, 3, `${numbers}`);
  await assert.rejects(() => {
    first.session().admin = () => Promise.reject(failure("OTSObjectNotExist"));
    return db.deleteTable("b");
  }, refused("OTSObjectNotExist"));
  first.leader.stop();
  const second = lead();
  await db.listTable();
  assert.deepEqual(
    second.session().calls.map(([op]) => op),
    ["listTable"],
    "nothing is asked again that has an answer",
  );
});

test("a change without an answer holds back what the leader may forget", async () => {
  const { db, first } = await follower((engine) => (engine.admin = never));
  const session = first.session();
  await db.putRow(put(1));
  db.createTable(table("a")).catch(() => {});
  await turn();
  const [held] = session.numbers.slice(-1);
  for (let id = 2; id < 5; id++) await db.putRow(put(id));
  assert.deepEqual(session.acknowledged.slice(-3), [held, held, held]);
});

test("a change with an answer may be forgotten, also if no frame of rows says so", async () => {
  const { db, first } = await follower();
  const session = first.session();
  await db.createTable(table("a"));
  await db.putRow(put(1));
  assert.ok(session.acknowledged.at(-1)! > session.numbers[0]!);
  const before = session.acknowledged.length;
  for (let i = 0; i < 100; i++) await db.createTable(table(`t${i}`));
  const told = session.acknowledged.slice(before);
  assert.ok(told.length >= 2 && told.at(-1)! > 60, `${told}`);
});

test("changes of a page that is put aside are refused by name if a leader may have done them, and wait if not", async () => {
  const { db, following, first, lead } = await follower(silent);
  const create = assert.rejects(db.createTable(table("a")), refused("LeaderChanged"));
  await turn();
  following.suspend();
  await create;
  const waits = db.createTable(table("b"));
  await turn();
  first.leader.stop();
  await following.begin();
  const second = lead();
  await waits;
  assert.deepEqual(second.session().done, ["createTable"]);
});

/** A tab that waits for the leadership, and whose change a leader has done without a word. */
async function waiting(): Promise<{ tab: WaitingTab; create: Promise<string>; client: Client; numbers: readonly (number | undefined)[] }> {
  const { leader, session } = leaders(checked().engine)(silent);
  const tab = new WaitingTab();
  const client = await tab.join();
  undo.push(() => void client.close().catch(() => {}));
  const create = new OpenDatabase("demo", "indexeddb", client).createTable(table("a")).then(
    () => "done",
    (error: TabStoreError) => error.code,
  );
  await turn();
  leader.stop();
  return { tab, create, client, numbers: session().numbers };
}

test("a tab that leads itself asks its own engine for what another one may have done", async () => {
  const { tab, create, numbers } = await waiting();
  tab.lead();
  assert.equal(await create, "done");
  assert.deepEqual(
    tab.own[0].numbers.filter((number) => number !== undefined),
    numbers.filter((number) => number !== undefined),
  );
});

test("an engine that dies while it takes its followers over: the fresh one does not know what was done, so changes are refused by name", async () => {
  const { tab, create } = await waiting();
  tab.lead(never);
  await turn();
  tab.report.onDeath(failure("OTSInternalServerError", "unreachable"));
  await turn();
  tab.lead();
  assert.equal(await create, "LeaderChanged");
  assert.ok(tab.own.every(({ done }) => done.length === 0));
});
