/** Schemas that change: what is stored is opened by a later one, or refused by name. With storage in files, on the real engine. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";

import { define, type Migrations, type Schema, t, type TypedDatabase } from "../src/schema/index.js";
import { code, load, skip } from "./support/package.js";

const FOLDER = mkdtempSync(path.join(os.tmpdir(), "tabstore-schema-"));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

/** Opens an instance in files, which outlives its handles. */
async function opened<D extends Schema>(name: string, schema: D, migrations?: Migrations<D>): Promise<TypedDatabase<D>> {
  const { open } = await load();
  return open(name, { storage: "files", path: FOLDER, schema, migrations });
}

const id = { id: t.integer };
const first = define({ note: { key: "id", columns: { ...id, title: t.text, at: t.date } } });

test("T5, T8: a later schema adds tables, columns, indexes, versions and changes, and rows of the first one are read", { skip }, async () => {
  const one = await opened("later", first);
  await one.note.putMany(Array.from({ length: 500 }, (_, n) => ({ id: n, title: `note ${n % 50}`, at: new Date(n) })));
  await one.close();
  const second = define({
    note: {
      key: "id",
      columns: { ...id, title: t.text, at: t.date, stars: t.integer.default(0), place: t.text.optional },
      indexes: { byTitle: ["title"], byStars: { key: ["stars"], columns: ["title"] } },
      changesFor: 24,
    },
    tag: { key: "name", columns: { name: t.text } },
  });
  const two = await opened("later", second);
  // The index is built when `open` resolves.
  assert.deepEqual(
    (await two.note.by.byTitle.range({ title: "note 7" }).toArray()).map((row) => [row.id, row.stars]),
    Array.from({ length: 10 }, (_, n) => [7 + 50 * n, 0]),
  );
  await two.note.update(7, { stars: 5 });
  assert.deepEqual(await two.note.by.byStars.toArray(), [{ id: 7, title: "note 7", stars: 5 }]);
  await two.tag.put({ name: "a" });
  const changes = [];
  for await (const { type } of two.note.changes({ once: true })) changes.push(type);
  assert.deepEqual(changes, ["UPDATE"]);
  await two.close();
  // An index that lacks a column is built again.
  const third = define({
    note: {
      key: "id",
      columns: { ...id, title: t.text, at: t.date, stars: t.integer.default(0), place: t.text.optional },
      indexes: { byStars: { key: ["stars"], columns: ["title", "at"] } },
    },
  });
  const three = await opened("later", third);
  assert.deepEqual(await three.note.by.byStars.toArray(), [{ id: 7, title: "note 7", at: new Date(7), stars: 5 }]);
  await three.close();
});

test("a schema that cannot be reached is refused by table and by what differs, and nothing is changed", { skip }, async () => {
  await (await opened("other", define({ note: { key: "id", columns: { ...id, n: t.integer }, indexes: { byN: ["n"] } } }))).close();
  for (const [schema, wanted] of [
    [define({ note: { key: "id", columns: { id: t.text } } }), /'note' is there, and its key is \(id INTEGER\), not \(id STRING\)/],
    [define({ note: { key: ["id", "n"], columns: { ...id, n: t.integer } } }), /its key is \(id INTEGER\), not \(id INTEGER, n INTEGER\)/],
    [define({ note: { key: "id", columns: { ...id, n: t.text }, indexes: { byN: ["n"] } } }), /its column 'n' is defined as INTEGER, not STRING/],
    [define({ note_byN: { key: "id", columns: id } }), /'note_byN' is there, and it is an index of the table 'note'/],
  ] as const)
    await assert.rejects(opened("other", schema as Schema), code("SchemaMismatch", wanted));
  const db = await opened("other", define({ note: { key: "id", columns: { ...id, n: t.integer }, indexes: { byN: ["n"] } } }));
  assert.deepEqual(await db.service.listTable(), ["note", "note_byN"]);
  await db.close();
});

test("a row that lacks what each row must have is refused by name where it is read, and reads with a default or as optional", { skip }, async () => {
  const db = await opened("lacks", first);
  await db.service.putRow({ tableName: "note", primaryKey: { id: 1 }, attributes: { title: "a" } });
  await assert.rejects(db.note.get(1), code("SchemaMismatch", /column 'at' of 'note' is missing in the row with the key .*1/));
  await db.service.putRow({ tableName: "note", primaryKey: { id: 2 }, attributes: { title: "a", at: "now" } });
  await assert.rejects(db.note.range({ id: 2 }).toArray(), code("SchemaMismatch", /column 'at' of 'note' holds 'now', which is not a valid Date/));
  await db.close();
  const later = await opened("lacks", define({ note: { key: "id", columns: { ...id, title: t.text, at: t.date.optional } } }));
  assert.deepEqual(await later.note.get(1), { id: 1, title: "a" });
  await later.close();
});

test("migrations run once each, in order, also when several open at once, and again after one that failed", { skip }, async () => {
  const ran: string[] = [];
  let fails = true;
  const migrations: Migrations<typeof first> = {
    fill: async ({ note }) => {
      ran.push("fill");
      await note.put({ id: 1, title: "old", at: new Date(0) });
    },
    rename: async ({ note }) => {
      ran.push("rename");
      if (fails) throw new Error("not yet");
      await note.update(1, { title: `${(await note.get(1))!.title}er` });
    },
  };
  await assert.rejects(opened("moves", first, migrations), /not yet/);
  fails = false;
  const all = await Promise.all([1, 2, 3].map(() => opened("moves", first, migrations)));
  assert.deepEqual(ran, ["fill", "rename", "rename"]);
  assert.equal((await all[0].note.get(1))!.title, "older");
  await Promise.all(all.map((db) => db.close()));
  await (await opened("moves", first, migrations)).close();
  assert.equal(ran.length, 3);
});

test("several that open at once make the tables once", { skip }, async () => {
  const schema = define({ note: { key: "id", columns: { ...id, title: t.text }, indexes: { byTitle: ["title"] } } });
  const all = await Promise.all([1, 2, 3, 4].map(() => opened("at-once", schema)));
  await all[3].note.put({ id: 1, title: "a" });
  assert.equal(await all[0].note.by.byTitle.count(), 1);
  await Promise.all(all.map((db) => db.close()));
});

test("what no table can be is refused where it is declared", () => {
  for (const [declare, wanted] of [
    [() => define({ a: { key: ["b"], columns: { c: t.text } } } as never), /The table 'a' has no column 'b', which is in its key/],
    [() => define({ a: { key: ["b"], columns: { b: t.double } } } as never), /has the DOUBLE 'b' in its key/],
    [() => define({ a: { key: ["b"], columns: { b: t.text.optional } } } as never), /'b', which each row must have/],
    [
      () => define({ a: { key: ["b"], columns: { b: t.text, c: t.text.versions(3) }, indexes: { versions: ["c"] } } }),
      /an index 'versions', and a table of that name holds its versions/,
    ],
    [() => define({ a: { key: ["b"], columns: { b: t.text, c: t.text }, indexes: { byC: ["c"] }, timeToLive: "1d" } }), /has a time to live and indexes/],
    [() => define({ a: { key: ["b"], columns: { b: t.text }, timeToLive: "1h" as never } }), /it must be seconds, or a text such as '30d'/],
    [
      () =>
        define({
          a: { key: ["b"], columns: { b: t.text, ...Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`c${n}`, t.text])) }, indexes: { byC: ["c0"] } },
        } as never),
      /has 33 columns in its indexes/,
    ],
    [() => define({ close: { key: ["b"], columns: { b: t.text } } }), /No table can be called 'close'/],
    [() => define({ a: { key: ["b"], columns: { b: t.text }, index: {} } } as never), /has 'index'; known are/],
    [() => define({ a: { key: ["b"], columns: { b: t.text, c: t.integer.auto } } }), /lets the store give 'c', which is no column of its key/],
    [() => t.text.versions(1), /at least 2/],
    [() => t.integer.default("1" as never), /must be an integer/],
    [() => t.list(t.bytes as never), /A list has texts/],
  ] as const)
    assert.throws(declare, (error: Error) => (error instanceof TypeError && wanted.test(error.message)) || assert.fail(`${error.message} is not ${wanted}`));
});
