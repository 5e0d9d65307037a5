/** Typed tables on the real engine: rows, keys, ranges, indexes, pages, versions, transactions, changes, imports. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { between, define, prefix, type Schema, type SchemaOptions, t, type TypedDatabase } from "../src/schema/index.js";
import { code, load, skip } from "./support/package.js";

const schema = define({
  note: {
    key: "id",
    columns: { id: t.integer, title: t.text, kind: t.oneOf("city", "person"), edited: t.date, tags: t.list(t.text).default([]), lat: t.double.optional },
    indexes: { byEdited: ["edited"], byTitle: { key: ["title"], columns: ["kind"] } },
  },
  reading: {
    key: ["station", "at"],
    columns: { station: t.text, at: t.date, celsius: t.double, wet: t.boolean.optional, raw: t.bytes.optional },
    timeToLive: "30d",
    changesFor: 24,
  },
  page: { key: "name", columns: { name: t.text, text: t.text.versions(50), place: t.json<{ lat: number; lon: number }>().optional } },
  counter: { key: "name", columns: { name: t.text, n: t.integer.default(0), big: t.bigint.optional } },
  chat: { key: ["room", "id"], columns: { room: t.text, id: t.integer.auto, text: t.text } },
});

/** A database in memory with the tables of a schema. */
async function opened<D extends Schema>(of: D, options: Omit<Partial<SchemaOptions<D>>, "schema"> = {}): Promise<TypedDatabase<D>> {
  const { open } = await load();
  return open("demo", { storage: "memory", ...options, schema: of });
}

const note = (id: number, more: Partial<typeof schema.note.NewRow> = {}): typeof schema.note.NewRow => ({
  id,
  title: `note ${id}`,
  kind: "city",
  edited: new Date(id * 1000),
  ...more,
});

test("D2: rows of a schema come back with their types: texts, integers, doubles, booleans, bytes, dates, JSON and lists", { skip }, async () => {
  const db = await opened(schema);
  assert.deepEqual(await db.note.put(note(1, { lat: 3, tags: ["a", "b"] })), { id: 1 });
  assert.deepEqual(await db.note.get(1), { id: 1, title: "note 1", kind: "city", edited: new Date(1000), tags: ["a", "b"], lat: 3 });
  assert.deepEqual(await db.note.get({ id: 1 }), await db.note.get(1));
  assert.equal(await db.note.get(2), undefined);
  const reading = { station: "SEA", at: new Date(Date.now()), celsius: 12, wet: false, raw: Uint8Array.of(1, 2) };
  await db.reading.put(reading);
  assert.deepEqual(await db.reading.get({ station: "SEA", at: reading.at }), reading);
  // As the service's calls see it: a whole number of a double column is a Double.
  const { row } = await db.service.getRow({ tableName: "reading", primaryKey: { station: "SEA", at: reading.at.getTime() } });
  assert.deepEqual([row!.type("celsius"), row!.type("at"), row!.type("raw")], ["DOUBLE", "INTEGER", "BINARY"]);
  await db.page.put({ name: "home", text: "hello", place: { lat: 1, lon: 2 } });
  assert.deepEqual(await db.page.get("home"), { name: "home", text: "hello", place: { lat: 1, lon: 2 } });
  await db.counter.put({ name: "views", big: 2n ** 62n });
  assert.deepEqual(await db.counter.get("views"), { name: "views", n: 0, big: 2n ** 62n });
  await db.close();
});

test("R1, R2: put replaces, insert refuses what is there, update refuses what is not, upsert keeps other columns, null removes one", { skip }, async () => {
  const db = await opened(schema);
  await db.note.insert(note(1, { lat: 1.5 }));
  await assert.rejects(db.note.insert(note(1)), code("OTSConditionCheckFail"));
  await assert.rejects(db.note.update(2, { title: "none" }), code("OTSConditionCheckFail"));
  await db.note.update(1, { title: "new", edited: undefined });
  assert.deepEqual([(await db.note.get(1))!.title, (await db.note.get(1))!.lat], ["new", 1.5]);
  await db.note.upsert(note(1, { tags: ["x"] }));
  assert.deepEqual([(await db.note.get(1))!.tags, (await db.note.get(1))!.lat], [["x"], 1.5]);
  await db.note.update(1, { lat: null });
  assert.equal("lat" in (await db.note.get(1))!, false);
  await db.note.put(note(1));
  assert.deepEqual(await db.note.get(1), { ...note(1), tags: [] });
  await db.note.delete(1);
  await db.note.delete({ id: 1 });
  assert.equal(await db.note.get(1), undefined);
  assert.equal(await db.counter.increment("views", "n"), 1);
  assert.equal(await db.counter.increment({ name: "views" }, "n", -3), -2);
  assert.deepEqual(await db.note.getMany([3, 1]), [undefined, undefined]);
  assert.deepEqual(
    [await db.chat.put({ room: "a", text: "hi" }), await db.chat.insert({ room: "a", text: "ho" })],
    [
      { room: "a", id: 1 },
      { room: "a", id: 2 },
    ],
  );
  assert.deepEqual(await db.chat.get({ room: "a", id: 2 }), { room: "a", id: 2, text: "ho" });
  await db.close();
});

test("what does not fit the schema is refused by table and column, and nothing of it is stored", { skip }, async () => {
  const db = await opened(schema);
  for (const [call, wanted] of [
    [() => db.note.put({ id: 1 } as never), /column 'title' of 'note' is missing/],
    [() => db.note.put({ ...note(1), titel: "x" } as never), /'note' has no column 'titel'/],
    [() => db.note.put({ ...note(1), kind: "river" } as never), /column 'kind' of 'note' is 'river'; it must be one of 'city', 'person'/],
    [() => db.note.put({ ...note(1), lat: "3" } as never), /column 'lat' of 'note' is '3'; it must be a finite number/],
    [() => db.note.put({ ...note(1), edited: new Date(NaN) }), /column 'edited' of 'note' is .*it must be a valid Date/],
    [() => db.note.put({ ...note(1), tags: ["a", 1] } as never), /column 'tags' of 'note' .*each entry a text/],
    [() => db.note.put({ ...note(1), title: null } as never), /column 'title' of 'note' is null/],
    [() => db.note.update(1, { id: 2 } as never), /'id' of 'note' is in the key/],
    [() => db.note.update(1, { title: null } as never), /'title' of 'note' is null/],
    [() => db.note.get("1" as never), /argument 'key' is/],
    [() => db.reading.get({ station: "SEA" } as never), /'at' of 'reading' is missing/],
    [() => db.reading.get({ station: "SEA", at: new Date(), n: 1 } as never), /key of 'reading' has no column 'n'/],
    [() => db.note.range({ kind: "city" } as never).toArray(), /'kind' is not in the key/],
    [() => db.reading.range({ at: new Date() } as never).toArray(), /names 'at', but 'station' before it has no single value/],
    [() => db.note.increment(1, "title" as never), /only integers are incremented/],
    [() => db.note.versions(1, "title"), /keeps one version/],
  ] as const)
    await assert.rejects(
      async () => {
        await call();
      },
      (error: Error) => wanted.test(error.message) || assert.fail(`${error.message} is not ${wanted}`),
    );
  assert.equal(await db.note.count(), 0);
  await db.close();
});

/** All rows of some table whose key has two texts. */
const words = define({ word: { key: ["a", "b"], columns: { a: t.text, b: t.text, n: t.integer }, indexes: { byN: ["n"] } } });

test("R3: ranges, stretches and prefixes give what a filter of all rows gives, in both directions, with limits and pages", { skip }, async () => {
  const db = await opened(words);
  const letters = ["", "a", "ab", "ab\0", "aa", "b", "\u{ffff}", "\u{10ffff}", "\u{10ffff}a", "ab\u{10ffff}", "\ud7ff", "\ue000", "z"];
  const rows = letters.flatMap((a, i) => letters.map((b, j) => ({ a, b, n: (i * 7 + j * 3) % 11 })));
  assert.equal(await db.word.putMany(rows), rows.length);
  const order = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
  const sorted = rows.toSorted((x, y) => order(x.a, y.a) || order(x.b, y.b));
  const below = (value: string, end: string | undefined): boolean => end === undefined || order(value, end) < 0;
  const inside = (value: string, from: string | undefined, to: string | undefined): boolean =>
    (from === undefined || order(value, from) >= 0) && below(value, to);
  for (const a of letters) {
    assert.deepEqual(
      await db.word.range({ a }).toArray(),
      sorted.filter((row) => row.a === a),
      a,
    );
    assert.deepEqual(await db.word.range({ a }).reverse().toArray(), sorted.filter((row) => row.a === a).toReversed(), a);
    assert.deepEqual(
      await db.word.range(prefix(a)).toArray(),
      sorted.filter((row) => row.a.startsWith(a)),
      a,
    );
    assert.deepEqual(await db.word.range(prefix(a)).reverse().toArray(), sorted.filter((row) => row.a.startsWith(a)).toReversed(), a);
    for (const b of letters) {
      assert.deepEqual(
        await db.word.range({ a, b }).reverse().toArray(),
        sorted.filter((row) => row.a === a && row.b === b),
      );
      assert.deepEqual(
        await db.word.range({ a: "ab", b: between(a, b) }).toArray(),
        sorted.filter((row) => row.a === "ab" && inside(row.b, a, b)),
        `${a} to ${b}`,
      );
      assert.deepEqual(
        await db.word
          .range({ a: "ab", b: between(a, b) })
          .reverse()
          .toArray(),
        sorted.filter((row) => row.a === "ab" && inside(row.b, a, b)).toReversed(),
        `${b} back to ${a}`,
      );
      assert.deepEqual(await db.word.range(between(a, b)).reverse().toArray(), sorted.filter((row) => inside(row.a, a, b)).toReversed(), `${b} back to ${a}`);
      assert.deepEqual(
        await db.word
          .range({ a, b: prefix(b) })
          .reverse()
          .toArray(),
        sorted.filter((row) => row.a === a && row.b.startsWith(b)).toReversed(),
      );
    }
  }
  const byN = rows.toSorted((x, y) => x.n - y.n || order(x.a, y.a) || order(x.b, y.b));
  for (const [query, all] of [
    [db.word.range({}), sorted],
    [db.word.by.byN, byN],
    [db.word.by.byN.reverse(), byN.toReversed()],
    [db.word.range(between("a", "b")).reverse(), sorted.filter((row) => inside(row.a, "a", "b")).toReversed()],
  ] as const) {
    assert.deepEqual(await query.toArray(), all);
    const read: unknown[] = [];
    let after: string | null = null;
    do {
      const page: { rows: unknown[]; next: string | null } = await query.limit(50).page({ after, limit: 7 });
      read.push(...page.rows);
      after = page.next;
    } while (after !== null);
    assert.deepEqual(read, all.slice(0, 50));
    assert.equal(await query.count(), all.length);
    assert.equal(await query.limit(9).count(), Math.min(9, all.length));
    assert.deepEqual(await query.first(), all[0]);
  }
  assert.deepEqual(
    await db.word.by.byN.range({ n: 3 }).toArray(),
    byN.filter(({ n }) => n === 3),
  );
  assert.deepEqual(await db.word.by.byN.range(between(3, 5)).reverse().toArray(), byN.filter(({ n }) => n === 3 || n === 4).toReversed());
  assert.deepEqual(
    await db.word.by.byN.range({ n: 3, a: prefix("ab") }).toArray(),
    byN.filter(({ n, a }) => n === 3 && a.startsWith("ab")),
  );
  assert.deepEqual(
    await db.word.where({ n: 3 }).toArray(),
    sorted.filter(({ n }) => n === 3),
  );
  assert.deepEqual(
    await db.word
      .where(({ n, a }) => n.gt(3).and(a.ne("z")))
      .where({ b: "a" })
      .toArray(),
    sorted.filter(({ a, b, n }) => n > 3 && a !== "z" && b === "a"),
  );
  await assert.rejects(db.word.page({ after: (await db.word.by.byN.page({ limit: 1 })).next }), code("OTSParameterInvalid", /not from a page of 'word'/));
  assert.equal(await db.word.by.byN.range({ n: 3 }).delete(), byN.filter(({ n }) => n === 3).length);
  assert.equal(await db.word.count(), rows.length - byN.filter(({ n }) => n === 3).length);
  await db.close();
});

test("V1, V2: versions and undo go back in time, and put begins anew", { skip }, async () => {
  const db = await opened(schema);
  await db.page.put({ name: "home", text: "one" });
  for (const text of ["two", "three"]) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await db.page.update("home", { text });
  }
  assert.deepEqual(
    (await db.page.versions("home", "text")).map(({ value }) => value),
    ["three", "two", "one"],
  );
  assert.equal(await db.page.undo("home", "text"), "two");
  assert.equal((await db.page.get("home"))!.text, "two");
  assert.equal(await db.page.undo("home", "text"), "one");
  // Each row must have it: the last one stays.
  assert.equal(await db.page.undo("home", "text"), undefined);
  assert.equal((await db.page.get("home"))!.text, "one");
  await db.close();
});

test("R7: a transaction stores all writes at its end, none if it throws, and waits for another one of its partition", { skip }, async () => {
  const db = await opened(schema);
  const at = (n: number): Date => new Date(n);
  await db.reading.transaction("SEA", async (rows) => {
    await rows.put({ station: "SEA", at: at(1), celsius: 1 });
    await rows.put({ station: "SEA", at: at(2), celsius: (await rows.get({ station: "SEA", at: at(1) }))!.celsius + 1 });
    const many = await rows.getMany([
      { station: "SEA", at: at(2) },
      { station: "SEA", at: at(3) },
    ]);
    assert.deepEqual(
      many.map((row) => row?.celsius),
      [2, undefined],
    );
  });
  assert.deepEqual(
    (await db.reading.toArray()).map(({ celsius }) => celsius),
    [1, 2],
  );
  await assert.rejects(
    db.reading.transaction("SEA", async (rows) => {
      await rows.delete({ station: "SEA", at: at(1) });
      throw new Error("no");
    }),
    /^Error: no$/,
  );
  assert.equal(await db.reading.count(), 2);
  await Promise.all(
    Array.from({ length: 8 }, () =>
      db.reading.transaction("SEA", async (rows) => {
        const { celsius } = (await rows.get({ station: "SEA", at: at(1) }))!;
        await rows.update({ station: "SEA", at: at(1) }, { celsius: celsius + 1 });
      }),
    ),
  );
  assert.equal((await db.reading.get({ station: "SEA", at: at(1) }))!.celsius, 9);
  await db.close();
});

test("ST2: changes of a table have its types, and go on behind a token", { skip }, async () => {
  const db = await opened(schema);
  const key = { station: "SEA", at: new Date(5) };
  await db.reading.put({ ...key, celsius: 1, wet: true });
  await db.reading.update(key, { celsius: 2, wet: null });
  await db.reading.delete(key);
  const seen = [];
  for await (const change of db.reading.changes({ once: true })) seen.push(change);
  assert.deepEqual(
    seen.map(({ type, key: of, columns }) => [type, of, columns]),
    [
      ["PUT", key, { celsius: 1, wet: true }],
      ["UPDATE", key, { celsius: 2, wet: null }],
      ["DELETE", key, {}],
    ],
  );
  const rest = [];
  for await (const { type } of db.reading.changes({ after: seen[1].token, once: true })) rest.push(type);
  assert.deepEqual(rest, ["DELETE"]);
  await db.close();
});

test("live queries of tables, rows and indexes follow each commit, and rows that stay are the same objects", { skip }, async () => {
  const db = await opened(schema);
  await db.note.put(note(1));
  const seen: number[][] = [];
  let kept: unknown;
  for await (const { rows } of db.note.by.byEdited.reverse().limit(2).watch()) {
    seen.push(rows.map(({ id }) => id));
    if (seen.length === 1) {
      kept = rows[0];
      await db.note.put(note(2));
    } else if (seen.length === 2) {
      assert.equal(rows[1], kept);
      await db.note.update(1, { title: "another", edited: new Date(9e6) });
    } else {
      assert.equal(rows[0].title, "another");
      break;
    }
  }
  assert.deepEqual(seen, [[1], [2, 1], [1, 2]]);
  for await (const { rows } of db.note.watch(2)) {
    assert.deepEqual(
      rows.map(({ title }) => title),
      ["note 2"],
    );
    break;
  }
  await db.close();
});

test("imports make rows of records by map, and refuse or skip what does not fit", { skip }, async () => {
  const db = await opened(schema);
  const file = new Blob(["city id;name;when\n1;Rome;2026-01-01\n2;Oslo;2026-01-02\n3;;2026-01-03\nx;Bad;2026-01-03\n"], { type: "text/csv" });
  const map = ({ "city id": id, name, when }: Readonly<Record<string, unknown>>) =>
    name === "" ? undefined : { id: Number(id), title: String(name), kind: "city" as const, edited: new Date(String(when)) };
  const { rows, skipped, failures } = await db.note.import(file, { map, onError: "skip" });
  assert.deepEqual(
    [rows, skipped, failures.map(({ row, error }) => [row, error.message])],
    [2, 1, [[4, "Row 4: The column 'id' of 'note' is NaN; it must be an integer up to 2^53 - 1."]]],
  );
  assert.deepEqual(await db.note.by.byTitle.range(prefix("Os")).toArray(), [{ id: 2, title: "Oslo", kind: "city" }]);
  await assert.rejects(db.note.import(file, { map }), /Row 4: .*'id' of 'note' is NaN/);
  await db.close();
});

test("an export of a database is imported into another one: the same rows of every type, versions to undo, and new ids behind them", { skip }, async () => {
  const [db, to] = [await opened(schema), await opened(schema)];
  for (let id = 0; id < 50; id++) await db.note.put(note(id, { tags: ["a"], lat: id }));
  const reading = { station: "SEA", at: new Date(5), celsius: 12, wet: false, raw: Uint8Array.of(1, 2) };
  await db.reading.put(reading);
  await db.page.put({ name: "home", text: "first", place: { lat: 1, lon: 2 } });
  await db.page.update("home", { text: "second" });
  await db.counter.put({ name: "views", big: 2n ** 62n });
  for (const text of ["a", "b"]) await db.chat.insert({ room: "lobby", text });
  await to.note.put(note(1, { title: "mine" }));
  await to.note.put(note(99));
  const { rows, tables } = await to.import(await db.export());
  assert.deepEqual([rows, tables], [55, []]);
  assert.deepEqual([await to.note.count(), (await to.note.get(1))!.title, (await to.note.get(99))!.title], [51, "note 1", "note 99"]);
  assert.deepEqual(
    [await to.note.get(7), await to.reading.get({ station: "SEA", at: reading.at }), await to.counter.get("views")],
    [await db.note.get(7), reading, await db.counter.get("views")],
  );
  assert.deepEqual(await to.page.versions("home", "text"), await db.page.versions("home", "text"));
  assert.equal(await to.page.undo("home", "text"), "first");
  const { id } = await to.chat.insert({ room: "lobby", text: "c" });
  assert.ok(id > (await db.chat.toArray()).at(-1)!.id);
  // One table: what it exports, it imports.
  const file = await db.page.export();
  await to.page.deleteAll();
  assert.equal((await to.page.import(file)).rows, 1);
  assert.deepEqual(await to.page.get("home"), await db.page.get("home"));
  assert.equal(await (await db.counter.export({ format: "csv" })).text(), "name,big,n\r\nviews,4611686018427387904,0\r\n");
  await Promise.all([db.close(), to.close()]);
});

test("undo never takes the only value; upsert leaves stored values of columns with a default; a new row has its defaults in indexes", { skip }, async () => {
  const of = (indexes?: { byKind: ["kind"] }) => ({
    key: "id" as const,
    columns: {
      id: t.integer,
      text: t.text.default("").versions(5),
      note: t.text.optional.versions(5),
      kind: t.text.default("new"),
      read: t.boolean.default(false),
    },
    ...(indexes && { indexes }),
  });
  const db = await opened(
    define({ plain: of(), indexed: of({ byKind: ["kind"] }) } as never) as Schema<{ plain: ReturnType<typeof of>; indexed: ReturnType<typeof of> }>,
  );
  for (const table of [db.plain, db.indexed]) {
    await table.insert({ id: 1, text: "only", note: "only", read: true });
    assert.deepEqual([await table.undo(1, "text"), await table.undo(1, "note")], [undefined, undefined]);
    assert.deepEqual([(await table.get(1))!.text, (await table.get(1))!.note], ["only", "only"]);
    await table.upsert({ id: 1, note: "two" });
    assert.deepEqual(await table.get(1), { id: 1, text: "only", note: "two", kind: "new", read: true });
    assert.equal((await table.versions(1, "text")).length, 1);
    await Promise.all([table.upsert({ id: 2, note: "x" }), table.upsert({ id: 2, read: true })]);
    assert.deepEqual(await table.get(2), { id: 2, text: "", note: "x", kind: "new", read: true });
    await table.upsert({ id: 2 });
    assert.equal((await table.get(2))!.read, true);
  }
  assert.deepEqual((await db.service.getRow({ tableName: "indexed_byKind", primaryKey: { kind: "new", id: 2 } })).row?.primaryKey, { kind: "new", id: 2 });
  await db.close();
});

test("a value that is undefined by mistake is refused in ranges and conditions; a condition that fails says of which row; prefix tells its end", {
  skip,
}, async () => {
  const db = await opened(schema);
  await db.note.put(note(1));
  const missing = undefined as unknown as string;
  assert.throws(() => db.note.by.byTitle.range({ title: missing }), code("OTSParameterInvalid", /gives 'title' as undefined/));
  assert.throws(() => db.note.where({ kind: missing as "city" }), code("OTSParameterInvalid", /gives 'kind' as undefined/));
  assert.equal(await db.note.count(), 1);
  const said =
    (hint: RegExp) =>
    (error: { code: string; hint: string }): boolean =>
      error.code === "OTSConditionCheckFail" && (hint.test(error.hint) || assert.fail(error.hint));
  await assert.rejects(db.note.update(7, { title: "x" }), said(/Table 'note', key \{"id":7\}: there is no such row/));
  await assert.rejects(db.note.insert(note(1)), said(/Table 'note', key \{"id":1\}: there is such a row/));
  const { from, to } = prefix("Em");
  assert.deepEqual([from, to], ["Em", "En"]);
  await db.close();
});

test("D2: a row is its own fields alone, in any order: what it inherits, and what a page adds to all objects, is no part of it", { skip }, async () => {
  const odd = define({
    row: { key: ["a", "b"], columns: { a: t.integer, b: t.text, constructor: t.text.optional, note: t.text.optional, n: t.double.default(1) } },
  });
  const db = await opened(odd);
  const rows = [
    { a: 1, b: "x" },
    { n: -0, note: "last", b: "x", a: 2 },
    { note: undefined, b: "x", a: 3, n: 2.5, constructor: "made" },
    Object.assign(Object.create({ note: "inherited", n: 7, other: 1 }) as object, { b: "x", a: 4 }),
    Object.assign(Object.create(null) as object, { a: 5, b: "x", n: 3 }),
    new (class {
      readonly a = 6;
      readonly b = "x";
      get note(): string {
        return "a getter of its class";
      }
    })(),
  ] as (typeof odd.row.NewRow)[];
  for (const row of rows) assert.deepEqual(Object.entries(await db.row.put(row)), Object.entries({ a: row.a, b: row.b }));
  const polluted = Object.prototype as { note?: unknown; extra?: unknown };
  try {
    Object.assign(polluted, { note: 5, extra: 6 });
    await db.row.put({ a: 7, b: "x" } as never);
    assert.deepEqual(Object.keys((await db.row.get({ a: 7, b: "x" }))!), ["a", "b", "n"]);
  } finally {
    delete polluted.note;
    delete polluted.extra;
  }
  const wanted: object[] = [
    { a: 1, b: "x", n: 1 },
    { a: 2, b: "x", note: "last", n: -0 },
    { a: 3, b: "x", constructor: "made", n: 2.5 },
    { a: 4, b: "x", n: 1 },
    { a: 5, b: "x", n: 3 },
    { a: 6, b: "x", n: 1 },
    { a: 7, b: "x", n: 1 },
  ];
  assert.deepEqual((await db.row.toArray()) as object[], wanted);
  const { rows: stored } = await db.service.getRange({ tableName: "row" });
  assert.deepEqual(
    stored.map((row) => row.type("n")),
    stored.map(() => "DOUBLE"),
  );
  // Another program wrote a row, with columns that the schema does not know.
  await db.service.putRow({ tableName: "row", primaryKey: { a: 9, b: "x" }, attributes: { aa: 1, note: "its own", zz: true } });
  assert.deepEqual((await db.row.get({ a: 9, b: "x" })) as object, { a: 9, b: "x", note: "its own", n: 1 });
  await assert.rejects(db.row.put({ a: 8 } as never), /'b' of 'row' is missing, and it is in the key/);
  await assert.rejects(db.row.put({ a: 8, b: "x", m: 1 } as never), /'row' has no column 'm'/);
  await assert.rejects(db.row.put({ a: 8, b: "x", note: 1 } as never), /'note' of 'row' is 1; it must be a text/);
  await db.close();
});
