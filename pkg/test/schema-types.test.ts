/** The types of a schema: this file is compiled, and hardly run. Each wrong use has a line that the compiler must refuse. */

import { test } from "node:test";

import { open } from "../src/index.js";
import { between, define, prefix, t, type TypedDatabase } from "../src/schema/index.js";

const schema = define({
  note: {
    key: ["id"],
    columns: {
      id: t.integer,
      title: t.text,
      kind: t.oneOf("city", "person"),
      edited: t.date,
      tags: t.list(t.text).default([]),
      lat: t.double.optional,
      text: t.text.versions(9),
    },
  },
  reading: {
    key: ["station", "at"],
    columns: { station: t.text, at: t.date, celsius: t.double, wet: t.boolean.optional, raw: t.bytes.optional, n: t.integer },
    indexes: { byTime: ["at"], byN: { key: ["n"], columns: ["celsius"] } },
  },
  chat: { key: ["room", "id"], columns: { room: t.text, id: t.integer.auto, text: t.text, place: t.json<{ lat: number }>().optional } },
});
type Note = typeof schema.note.Row;

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

async function allowed(db: TypedDatabase<typeof schema>): Promise<void> {
  same<Note, { id: number; title: string; kind: "city" | "person"; edited: Date; tags: readonly string[]; text: string; lat?: number | undefined }>(true);
  same<typeof schema.reading.Key, { station: string; at: Date }>(true);
  same<typeof schema.chat.NewRow, { room: string; text: string; id?: number | undefined; place?: { lat: number } | undefined }>(true);
  const note: Note = { id: 1, title: "a", kind: "city", edited: new Date(), tags: [], text: "" };
  same<{ id: number }, Awaited<ReturnType<typeof db.note.put>>>(true);
  await db.note.put(note);
  await db.note.put({ id: 1, title: "a", kind: "person", edited: new Date(), text: "", lat: undefined });
  await db.chat.insert({ room: "a", text: "b" });
  await db.chat.insert({ room: "a", id: 7, text: "b", place: { lat: 1 } });
  await db.note.update(1, { title: "b", lat: null, tags: null });
  await db.note.update({ id: 1 }, { text: undefined });
  await db.note.upsert({ ...note, lat: 1 });
  await db.note.delete(1);
  const found = await db.note.get(1);
  if (found !== undefined) found.title.slice(found.tags.length).concat(found.kind, String((found.lat ?? 0) + found.edited.getTime()));
  const many = await db.reading.getMany([{ station: "a", at: new Date() }]);
  many[0]?.celsius.toFixed(1);
  (await db.reading.increment({ station: "a", at: new Date() }, "n", 2)).toFixed();
  for await (const row of db.reading) row.at.getTime();
  for await (const row of db.reading
    .range({ station: "a", at: between(new Date()) })
    .reverse()
    .limit(3))
    row.celsius.toFixed();
  await db.reading.range(prefix("a")).count();
  await db.reading.range({ station: between("a", "b") }).delete();
  await db.reading.range({ station: { from: "a" } }).first();
  for (const { at, n, celsius } of await db.reading.by.byN.range({ n: 3, station: "a" }).toArray()) (n + celsius).toFixed(at.getTime());
  for (const { wet } of await db.reading.by.byTime.range(between(new Date(), new Date())).toArray()) if (wet === true) break;
  const { rows, next } = await db.note.page({ after: null, limit: 10 });
  await db.note.page({ after: next });
  rows.map(({ title }) => title.length);
  await db.note.where({ kind: "city", lat: 3 }).toArray();
  await db.note.where(({ kind, edited }) => kind.eq("city").and(edited.gt(new Date()).not())).count();
  for (const { value, version } of await db.note.versions(1, "text")) value.slice(version);
  (await db.note.undo(1, "text"))?.slice(1);
  for await (const { type, key, columns } of db.chat.changes()) if (type === "PUT") key.room.concat(columns.text ?? "");
  const sum = await db.reading.transaction("a", async (rows) => {
    await rows.put({ station: "a", at: new Date(), celsius: 1, n: 1 });
    return (await rows.get({ station: "a", at: new Date() }))?.celsius ?? 0;
  });
  sum.toFixed();
  await db.note.import(new Blob(), { map: (record) => ({ ...note, title: String(record.name) }) });
  for await (const { rows: shown } of db.note.watch()) shown[0]?.title.slice();
  db.note.watch(1).getSnapshot().rows?.[0]?.title.slice();
  await db.service.compact();
  await open("demo", { schema, storage: "memory", migrations: { first: async (made) => made.note.count() } });
}

async function refused(db: TypedDatabase<typeof schema>): Promise<void> {
  const note: Note = { id: 1, title: "a", kind: "city", edited: new Date(), tags: [], text: "" };
  // @ts-expect-error a table that is not there
  await db.notes.get(1);
  // @ts-expect-error a column that is not there
  await db.note.put({ ...note, titel: "a" });
  // @ts-expect-error a missing column
  await db.note.put({ id: 1, kind: "city", edited: new Date(), text: "" });
  // @ts-expect-error a text for an integer
  await db.note.put({ ...note, id: "1" });
  // @ts-expect-error a number for a date
  await db.note.put({ ...note, edited: 1 });
  // @ts-expect-error a text that is none of the allowed ones
  await db.note.put({ ...note, kind: "river" });
  // @ts-expect-error a list with a number
  await db.note.put({ ...note, tags: [1] });
  // @ts-expect-error null in a new row
  await db.note.put({ ...note, lat: null });
  // @ts-expect-error a key of another type
  await db.note.get("1");
  // @ts-expect-error a value alone where two columns are the key
  await db.reading.get("a");
  // @ts-expect-error half a key
  await db.reading.get({ station: "a" });
  // @ts-expect-error a column beside the key
  await db.note.get({ id: 1, title: "a" });
  // @ts-expect-error the key never changes
  await db.note.update(1, { id: 2 });
  // @ts-expect-error each row must have it
  await db.note.update(1, { title: null });
  // @ts-expect-error no column of a patch
  await db.note.update(1, { titel: "a" });
  // @ts-expect-error only integers count
  await db.reading.increment({ station: "a", at: new Date() }, "celsius");
  // @ts-expect-error a row may be missing
  (await db.note.get(1)).title.slice();
  // @ts-expect-error an optional column may be missing
  (await db.note.get(1))!.lat.toFixed();
  // @ts-expect-error not in the key
  db.note.range({ title: "a" });
  // @ts-expect-error not of the column's type
  db.note.range({ id: "a" });
  // @ts-expect-error a stretch of another type
  db.reading.range({ station: "a", at: between(1, 2) });
  // @ts-expect-error integers have no prefix
  db.note.range(prefix("1"));
  // @ts-expect-error an index that is not there
  db.reading.by.byStation.toArray();
  // @ts-expect-error an index without this column
  (await db.reading.by.byN.first())?.wet;
  // @ts-expect-error not in the index's key
  db.reading.by.byTime.range({ celsius: 1 });
  // @ts-expect-error a filter on a column that is not there
  db.note.where({ titel: "a" });
  // @ts-expect-error a filter of another type
  db.note.where(({ edited }) => edited.gt(1));
  // @ts-expect-error the key has no versions
  await db.note.versions(1, "id");
  // @ts-expect-error a partition of another type
  await db.reading.transaction(1, async () => {});
  // @ts-expect-error a row of another table
  await db.note.put({ room: "a", text: "b" });
  // @ts-expect-error an import without the columns
  await db.note.import(new Blob(), { map: () => ({ id: 1 }) });
  // @ts-expect-error an option that is not there
  await db.note.page({ from: "a" });
  // @ts-expect-error an index may lack what is optional, but not what is in no key of it
  (await db.reading.by.byTime.first())!.raw.length;
}

function declarations(): void {
  // @ts-expect-error a key column that is not there
  define({ a: { key: ["b"], columns: { c: t.text } } });
  // @ts-expect-error a double in a key
  define({ a: { key: ["b"], columns: { b: t.double } } });
  // @ts-expect-error an optional column in a key
  define({ a: { key: ["b"], columns: { b: t.text.optional } } });
  // @ts-expect-error an index on a column that is not there
  define({ a: { key: ["b"], columns: { b: t.text }, indexes: { byC: ["c"] } } });
  // @ts-expect-error an index on a boolean
  define({ a: { key: ["b"], columns: { b: t.text, c: t.boolean }, indexes: { byC: ["c"] } } });
  // @ts-expect-error an index that holds a column that is not there
  define({ a: { key: ["b"], columns: { b: t.text, c: t.text }, indexes: { byC: { key: ["c"], columns: ["d"] } } } });
  // @ts-expect-error a default of another type
  t.text.default(1);
  // @ts-expect-error only integers are given by the store
  define({ a: { key: ["b", "c"], columns: { b: t.text, c: t.text.auto } } });
}

test("rows, keys, changes, ranges and filters of a schema have types", () => {
  // The compiler has judged them.
  void [allowed, refused, declarations];
});
