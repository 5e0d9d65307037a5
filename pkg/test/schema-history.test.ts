/** Versions beside indexes: the same as those of a table without indexes, in one step with the rows, whatever comes between. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { define, type SchemaOptions, t, type TypedDatabase } from "../src/schema/index.js";
import { code, load, random, skip } from "./support/package.js";

const columns = {
  id: t.integer,
  title: t.text,
  text: t.text.versions(4),
  ratio: t.double.optional.versions(3),
  raw: t.bytes.optional.versions(2),
  hits: t.integer.default(0).versions(3),
};
const schema = define({
  beside: { key: "id", columns, indexes: { byTitle: ["title"] } },
  alone: { key: "id", columns },
  auto: {
    key: ["room", "id"],
    columns: { room: t.text, id: t.integer.auto, text: t.text.versions(5), kind: t.text.default("a") },
    indexes: { byKind: ["kind"] },
  },
});

async function opened(options: Omit<Partial<SchemaOptions<typeof schema>>, "schema"> = {}): Promise<TypedDatabase<typeof schema>> {
  return (await load()).open("demo", { storage: "memory", ...options, schema });
}

/** The store's clock gives each version a millisecond of its own. */
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

test("V1 V2 T8: rows, versions and undo are those of a table without indexes, and each index has the newest values", { skip }, async () => {
  const db = await opened();
  for (let seed = 1; seed <= 3; seed++) {
    const below = random(seed);
    const value = (): Record<string, unknown> => ({
      ...(below(2) && { text: `text ${below(1000)}` }),
      ...(below(3) === 0 && { ratio: below(4) }),
      ...(below(3) === 0 && { raw: Uint8Array.of(below(256)) }),
      ...(below(3) === 0 && { title: `title ${below(3)}` }),
      ...(below(6) === 0 && { ratio: null }),
      ...(below(3) === 0 && { hits: below(9) }),
    });
    const told = async (work: (table: typeof db.alone) => Promise<unknown>): Promise<void> => {
      const [one, other] = [
        await work(db.beside).catch((error: { code: string }) => error.code),
        await work(db.alone).catch((error: { code: string }) => error.code),
      ];
      assert.deepEqual(one, other);
    };
    for (let step = 0; step < 250; step++) {
      const id = below(3);
      const column = (["text", "ratio", "raw", "hits"] as const)[below(4)]!;
      const patch = value();
      const whole = { id, title: "new", text: `whole ${step}`, ...Object.fromEntries(Object.entries(patch).filter(([, one]) => one !== null)) } as never;
      const [kind, by] = [below(20), below(5)];
      await tick();
      if (kind === 0) await told((table) => table.delete(id));
      else if (kind < 3) await told((table) => table.put(whole));
      else if (kind === 3) await told((table) => table.insert(whole));
      else if (kind < 6) await told((table) => table.upsert(whole));
      else if (kind < 8) await told((table) => table.increment(id, "hits", by));
      else if (kind < 11) await told((table) => table.undo(id, column));
      else await told((table) => table.update(id, patch as never));
      await told((table) => table.get(id));
      for (const name of ["text", "ratio", "raw", "hits"] as const) await told(async (table) => (await table.versions(id, name)).map((one) => one.value));
    }
    const rows = await db.beside.toArray();
    assert.deepEqual(rows, await db.alone.toArray());
    assert.deepEqual(
      (await db.beside.by.byTitle.toArray()).sort((a, b) => a.id - b.id),
      rows,
    );
  }
  await db.close();
});

test("R6: a row whose key the store gives, and one of an import, begin their versions with the value that they have", { skip }, async () => {
  const db = await opened();
  const { id } = await db.auto.insert({ room: "a", text: "one" });
  await tick();
  await db.auto.update({ room: "a", id }, { text: "two" });
  assert.deepEqual(
    (await db.auto.versions({ room: "a", id }, "text")).map(({ value }) => value),
    ["two", "one"],
  );
  await db.beside.import([{ id: 1, title: "t", text: "imported", ratio: 2 }]);
  assert.deepEqual(
    (await db.beside.versions(1, "text")).map(({ value }) => value),
    ["imported"],
  );
  await tick();
  await db.beside.update(1, { text: "changed", ratio: 3 });
  assert.deepEqual(
    (await db.beside.versions(1, "text")).map(({ value }) => value),
    ["changed", "imported"],
  );
  assert.equal(await db.beside.undo(1, "ratio"), 2);
  assert.deepEqual(
    [(await db.beside.get(1))!.ratio, (await db.service.getRow({ tableName: "beside", primaryKey: { id: 1 } })).row!.type("ratio")],
    [2, "DOUBLE"],
  );
  await assert.rejects(db.beside.update(7, { text: "none" }), code("OTSConditionCheckFail"));
  await db.beside.upsert({ id: 8, title: "t", text: "first" });
  assert.deepEqual(
    (await db.beside.versions(8, "text")).map(({ value }) => value),
    ["first"],
  );
  await db.close();
});

test("R4: writers at once lose no version, and what is undone at once is undone once for each", { skip }, async () => {
  const db = await opened();
  await db.beside.put({ id: 1, title: "t", text: "start", hits: 0 });
  await Promise.all(Array.from({ length: 40 }, () => db.beside.increment(1, "hits")));
  assert.equal((await db.beside.get(1))!.hits, 40);
  const [newest] = await db.beside.versions(1, "hits");
  assert.equal(newest!.value, 40);
  await tick();
  await db.beside.update(1, { text: "two" });
  await tick();
  await db.beside.update(1, { text: "three" });
  const undone = await Promise.all([db.beside.undo(1, "text"), db.beside.undo(1, "text"), db.beside.undo(1, "text")]);
  assert.deepEqual(undone.sort(), ["start", "two", undefined]);
  assert.equal((await db.beside.get(1))!.text, "start");
  await db.close();
});

test("what is deleted leaves no versions: by a key, a range, an index, a filter, and all; a row of that key begins anew", { skip }, async () => {
  const db = await opened();
  const companion = async (): Promise<number> => (await db.service.count({ tableName: "beside_versions" })).count;
  const fill = (): Promise<number> => db.beside.putMany(Array.from({ length: 250 }, (_, id) => ({ id, title: `t${id % 5}`, text: `text ${id}` })));
  assert.deepEqual([await fill(), await companion()], [250, 250]);
  await db.beside.delete(0);
  assert.equal(await db.beside.by.byTitle.range({ title: "t1" }).delete(), 50);
  assert.equal(await db.beside.where({ title: "t2" }).delete(), 50);
  assert.deepEqual([await db.beside.count(), await companion()], [149, 149]);
  assert.equal(await db.beside.limit(9).delete(), 9);
  assert.equal(await db.beside.deleteAll(), 140);
  assert.deepEqual([await db.beside.count(), await companion()], [0, 0]);
  await db.beside.upsert({ id: 3, title: "t", text: "anew" });
  assert.deepEqual(
    (await db.beside.versions(3, "text")).map(({ value }) => value),
    ["anew"],
  );
  await db.close();
});

test("R7: a transaction of such a table reads, and changes columns without versions; others are refused by name", { skip }, async () => {
  const db = await opened();
  await db.beside.put({ id: 1, title: "t", text: "one" });
  await db.beside.transaction(1, async (rows) => {
    await rows.update(1, { title: `${(await rows.get(1))!.title}!` });
  });
  assert.equal((await db.beside.get(1))!.title, "t!");
  const works: ((rows: typeof db.beside) => Promise<unknown>)[] = [
    (rows) => rows.update(1, { text: "x" }),
    (rows) => rows.put({ id: 1, title: "t", text: "x" }),
    (rows) => rows.delete(1),
    (rows) => rows.increment(1, "hits"),
  ];
  for (const work of works)
    await assert.rejects(
      db.beside.transaction<unknown>(1, (rows) => work(rows as never)),
      code("OTSDataOutOfRange", /'beside'/),
    );
  await db.close();
});

test("T5: a table that keeps versions itself gets no index without a word, and an export carries the versions", { skip }, async () => {
  const { open } = await load();
  const db = await opened();
  await db.beside.put({ id: 1, title: "t", text: "one" });
  await tick();
  await db.beside.update(1, { text: "two" });
  const to = await opened();
  assert.equal((await to.import(await db.export())).rows, 2);
  assert.deepEqual(await to.beside.versions(1, "text"), await db.beside.versions(1, "text"));
  assert.equal(await to.beside.undo(1, "text"), "one");
  const later = define({ alone: { key: "id", columns, indexes: { byTitle: ["title"] } } });
  const service = await open("demo", { storage: "memory" });
  await service.createTable({ tableName: "alone", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 4 });
  await Promise.all([db, to, service].map((one) => one.close()));
  // The same change in one instance: its rows have versions that an index would cost them.
  const folder = await (await import("node:fs/promises")).mkdtemp(`${(await import("node:os")).tmpdir()}/tabstore-history-`);
  const first = await open("demo", { storage: "files", path: folder, schema: define({ alone: { key: "id", columns } }) });
  await first.close();
  await assert.rejects(open("demo", { storage: "files", path: folder, schema: later }), code("SchemaMismatch", /keeps versions of 'text' itself/));
  await (await import("node:fs/promises")).rm(folder, { recursive: true });
});

const values = async (
  table: { versions(key: number, column: "hits" | "text"): Promise<readonly { readonly value: unknown }[]> },
  column: "hits" | "text",
): Promise<unknown[]> => (await table.versions(1, column)).map(({ value }) => value);

test("V1: what an import or the service's calls have written over a row is the version before the next one", { skip }, async () => {
  const db = await opened();
  const { beside } = db;
  await beside.put({ id: 1, title: "t", text: "old", hits: 3 });
  await beside.import([{ id: 1, title: "t", text: "imported", hits: 10 }]);
  await beside.increment(1, "hits");
  assert.deepEqual([await values(beside, "hits"), await beside.undo(1, "hits")], [[11, 10, 3], 10]);
  await beside.update(1, { text: "new" });
  assert.deepEqual([await values(beside, "text"), await beside.undo(1, "text")], [["new", "imported", "old"], "imported"]);
  await db.service.updateRow({ tableName: "beside", primaryKey: { id: 1 }, put: { text: "by hand" } });
  assert.equal(await beside.undo(1, "text"), "imported");
  // The versions of a row that was deleted by hand are not those of the next one.
  await db.service.deleteRow({ tableName: "beside", primaryKey: { id: 1 } });
  await beside.upsert({ id: 1, title: "t", text: "anew" });
  assert.deepEqual(await values(beside, "text"), ["anew"]);
  await db.close();
});

test("V1: a column that keeps versions only in a later schema begins with the value that its rows have", { skip }, async () => {
  const { open } = await load();
  const { mkdtemp, rm } = await import("node:fs/promises");
  const folder = await mkdtemp(`${(await import("node:os")).tmpdir()}/tabstore-history-`);
  const of = (hits: typeof columns.hits) =>
    define({ n: { key: "id", columns: { id: t.integer, title: t.text, text: t.text.versions(4), hits }, indexes: { byTitle: ["title"] } } });
  const first = await open("demo", { storage: "files", path: folder, schema: of(t.integer.default(0) as never) });
  await first.n.put({ id: 1, title: "t", text: "x", hits: 5 });
  await first.close();
  const later = await open("demo", { storage: "files", path: folder, schema: of(t.integer.default(0).versions(9) as never) });
  await later.n.increment(1, "hits");
  assert.deepEqual([await values(later.n, "hits"), await later.n.undo(1, "hits"), (await later.n.get(1))!.hits], [[6, 5], 5, 5]);
  await later.close();
  await rm(folder, { recursive: true });
});

test("R5: operations on one row happen in call order, also behind one that is more than one call; of two undos each takes one value", { skip }, async () => {
  const db = await opened();
  const { beside, alone } = db;
  for (const table of [beside, alone]) {
    await table.import([{ id: 1, title: "t", text: "i", hits: 1 }]);
    await Promise.all([table.update(1, { text: "first" }), table.put({ id: 1, title: "t", text: "second", hits: 2 })]);
    assert.equal((await table.get(1))!.text, "second");
    const [, read] = await Promise.all([table.update(1, { text: "third" }), table.get(1)]);
    assert.equal(read!.text, "third");
    for (const text of ["a", "b", "c"]) {
      await tick();
      await table.upsert({ id: 1, title: "t", text, hits: 2 });
    }
    await Promise.all([table.undo(1, "text"), table.undo(1, "text")]);
    assert.equal((await table.get(1))!.text, "a");
    await tick();
    await Promise.all([table.undo(1, "text"), table.update(1, { text: "d" })]);
    assert.equal((await table.get(1))!.text, "d");
  }
  await db.close();
});

test("a name that the store would use twice is refused where it is declared", () => {
  const n = { key: "id", columns: { id: t.integer, text: t.text.versions(3), k: t.text }, indexes: { byK: ["k"] } } as const;
  const plain = { key: "id", columns: { id: t.integer } } as const;
  assert.throws(() => define({ n, n_versions: plain }), /both the versions of 'n' and the table 'n_versions'/);
  assert.throws(() => define({ n, n_byK: plain }), /both the index 'byK' of 'n' and the table 'n_byK'/);
  assert.throws(() => define({ n_by: { ...n, indexes: { x: ["k"] } }, n: { ...n, indexes: { by_x: ["k"] } } }), /'n_by_x'/);
});
