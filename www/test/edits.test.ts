import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Database, double, open, type Row } from "tabstore";

import { cellOf, type Edits, editsText, NO_EDITS, updateOf, withEdit } from "../src/lib/edits.ts";

let db: Database;
const tableName = "books";

before(async () => {
  db = await open("edits", { storage: "memory", integers: "bigint" });
  await db.createTable({ tableName, primaryKey: [{ name: "id", type: "STRING" }] });
  await db.putRow({ tableName, primaryKey: { id: "a" }, attributes: { n: 1, d: double(2), text: "x", bytes: Uint8Array.of(10), yes: true } });
  await db.putRow({ tableName, primaryKey: { id: "b" } });
});
after(() => db.close());

const read = async (id: string) => (await db.getRow({ tableName, primaryKey: { id } })).row as Row;

test("W1: changes of several rows are gathered, and a change back is none", async () => {
  const [a, b] = [await read("a"), await read("b")];
  let edits: Edits = withEdit(NO_EDITS, "a", a, "n", { type: "INTEGER", text: "2" });
  edits = withEdit(edits, "a", a, "text", { gone: true });
  edits = withEdit(edits, "b", b, "text", { type: "STRING", text: "" });
  assert.equal(editsText(edits), "3 changes in 2 rows");
  assert.deepEqual(updateOf(edits.get("a")!), { put: { n: 2n }, deleteColumns: ["text"] });
  assert.deepEqual(updateOf(edits.get("b")!), { put: { text: "" } });
  edits = withEdit(edits, "a", a, "text", { type: "STRING", text: "x" });
  edits = withEdit(edits, "b", b, "text", { gone: true });
  assert.equal(editsText(edits), "1 change in 1 row");
  edits = withEdit(edits, "a", a, "n", { type: "INTEGER", text: " +1" });
  assert.equal(edits.size, 0, "the same number, written in another way");
});

test("W1, D2: the same text in another type is a change, and what is no value is refused", async () => {
  const a = await read("a");
  const change = (column: string, type: Parameters<typeof withEdit>[4] & { gone?: undefined }) => withEdit(NO_EDITS, "a", a, column, type).size;
  assert.equal(change("n", { type: "STRING", text: "1" }), 1);
  assert.equal(change("d", { type: "DOUBLE", text: "2" }), 0);
  assert.equal(change("d", { type: "INTEGER", text: "2" }), 1);
  assert.equal(change("bytes", { type: "BINARY", text: "0A" }), 0);
  assert.equal(change("yes", { type: "BOOLEAN", text: "false" }), 1);
  assert.throws(() => change("n", { type: "INTEGER", text: "two" }), /“two” is not an integer/);
});

test("W1: a row keeps the state in which its first cell was read", async () => {
  const first = await read("a");
  const edits = withEdit(NO_EDITS, "a", first, "n", { type: "INTEGER", text: "5" });
  await db.updateRow({ tableName, primaryKey: { id: "a" }, put: { n: 9 } });
  const later = withEdit(edits, "a", await read("a"), "text", { type: "STRING", text: "y" });
  assert.equal(later.get("a")?.read, first, "so a save sees that n has changed in between");
  assert.deepEqual(cellOf(first, "n")?.text, "1");
  assert.equal(cellOf(null, "n"), undefined);
});
