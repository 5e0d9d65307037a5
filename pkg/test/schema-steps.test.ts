/** Steps over several tables of a schema: all of it, or nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { define, type Steps, t, type TypedDatabase } from "../src/schema/index.js";
import { code, load, skip } from "./support/package.js";

const schema = define({
  account: { key: "owner", columns: { owner: t.text, balance: t.integer, at: t.date.optional } },
  note: { key: "id", columns: { id: t.integer, text: t.text.versions(5), tags: t.list(t.text).default([]) }, indexes: { byText: ["text"] } },
  log: { key: ["day", "id"], columns: { day: t.text, id: t.integer.auto, what: t.text, ratio: t.double.default(1) } },
});
type Db = TypedDatabase<typeof schema>;

async function opened(): Promise<Db> {
  return (await load()).open("demo", { storage: "memory", schema });
}

/** The number of commits, once the store makes none by itself: units of earlier reads, say, are stored a while after them. */
async function settledCommits(service: Database): Promise<number> {
  for (let before = -1, same = 0; ; ) {
    const { commits } = (await service.metrics()).work;
    same = commits === before ? same + 1 : 0;
    if (same === 5) return commits;
    before = commits;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("R4: a step writes rows of any tables, with their types, defaults, keys of the store and versions beside indexes", { skip }, async () => {
  const db = await opened();
  await db.account.put({ owner: "ann", balance: 30 });
  await db.note.put({ id: 1, text: "one" });
  const commits = await settledCommits(db.service);
  const at = new Date(5);
  await db.atomic(({ account, note, log }) => {
    account.increment("ann", "balance", -10);
    account.put({ owner: "bob", balance: 10, at });
    note.update(1, { text: "two", tags: ["x"] });
    note.insert({ id: 2, text: "new" });
    log.insert({ day: "mon", what: "moved" });
  });
  assert.equal((await db.service.metrics()).work.commits, commits + 1);
  assert.deepEqual([(await db.account.get("ann"))!.balance, await db.account.get("bob")], [20, { owner: "bob", balance: 10, at }]);
  assert.deepEqual(
    (await db.note.versions(1, "text")).map(({ value }) => value),
    ["two", "one"],
  );
  assert.deepEqual([await db.note.get(2), await db.note.by.byText.count()], [{ id: 2, text: "new", tags: [] }, 2]);
  assert.deepEqual(
    (await db.log.toArray()).map(({ what, ratio }) => [what, ratio]),
    [["moved", 1]],
  );
  await db.atomic(({ note }) => note.delete(1));
  assert.deepEqual([await db.note.get(1), (await db.service.count({ tableName: "note_versions" })).count], [undefined, 1]);
  await db.atomic(() => {});
  await db.close();
});

test("R4: a row that is there or not, and a wrong one, leave nothing of a step, and are named", { skip }, async () => {
  const db = await opened();
  await db.account.put({ owner: "ann", balance: 30 });
  await db.note.put({ id: 1, text: "one" });
  const wrong: [(steps: Steps<typeof schema>) => unknown, string, RegExp][] = [
    [
      ({ account, note }) => (account.increment("ann", "balance", 5), note.insert({ id: 1, text: "again" })),
      "OTSConditionCheckFail",
      /Table 'note', key \{"id":1\}: there is such a row/,
    ],
    [
      ({ account, note }) => (note.update(9, { text: "x" }), account.increment("ann", "balance", 5)),
      "OTSConditionCheckFail",
      /Table 'note', key \{"id":9\}: there is no such row/,
    ],
    [({ account, note }) => (account.increment("ann", "balance", 5), note.put({ id: 3, text: 7 as never })), "OTSParameterInvalid", /./],
    [({ account }) => (account.increment("ann", "balance", 5), account.increment("ann", "owner" as never, 5)), "OTSParameterInvalid", /./],
    [async ({ account }) => account.increment("ann", "balance", 5), "OTSParameterInvalid", /Read what it needs before/],
  ];
  for (const [work, wanted, hint] of wrong) {
    await assert.rejects(db.atomic(work as () => void), (error: { code: string; hint?: string; message: string }) => {
      assert.equal(error.code, wanted, error.message);
      return hint.test(error.hint ?? error.message) || assert.fail(error.hint);
    });
  }
  await assert.rejects(db.atomic(5 as never), code("OTSParameterInvalid", /'record'/));
  // What comes behind an await is refused in a promise that nobody has: it must not end the process.
  const slow = async ({ account }: Steps<typeof schema>): Promise<void> => {
    await null;
    account.increment("ann", "balance", 5);
  };
  await assert.rejects(db.atomic(slow as never), code("OTSParameterInvalid", /gives a promise/));
  await new Promise((resolve) => setTimeout(resolve, 5));
  let late: Steps<typeof schema> | undefined;
  await db.atomic((steps) => void (late = steps));
  assert.throws(() => late!.note.delete(1), code("OTSParameterInvalid", /has been recorded/));
  await assert.rejects(
    db.atomic(() => {
      throw new Error("mine");
    }),
    /^Error: mine$/,
  );
  assert.deepEqual([(await db.account.get("ann"))!.balance, await db.note.count(), await db.note.get(9)], [30, 1, undefined]);
  assert.equal((await db.service.count({ tableName: "note_versions" })).count, 1);
  await db.close();
});

test("R4 R5: steps at once by two handles lose nothing, also beside rows that an import wrote", { skip }, async () => {
  const db = await opened();
  await db.note.import([{ id: 1, text: "imported", tags: [] }]);
  await db.account.putMany(["ann", "bob"].map((owner) => ({ owner, balance: 100 })));
  await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      db.atomic(({ account, note }) => {
        account.increment("ann", "balance", -1);
        account.increment("bob", "balance", 1);
        if (n === 30) note.update(1, { text: "changed" });
      }),
    ),
  );
  assert.deepEqual(
    (await db.account.toArray()).map(({ balance }) => balance),
    [40, 160],
  );
  assert.deepEqual(
    (await db.note.versions(1, "text")).map(({ value }) => value),
    ["changed", "imported"],
  );
  await db.close();
});
