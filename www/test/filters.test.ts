import assert from "node:assert/strict";
import { test } from "node:test";

import { type Database, double, open } from "tabstore";

import { type ConditionText, formatFilter, type FilterText, NEW_CONDITION, NO_FILTER, parseFilter, toFilter } from "../src/lib/filters.ts";
import { ascending } from "../src/lib/keys.ts";

const one = (change: Partial<ConditionText>): ConditionText => ({ ...NEW_CONDITION, ...change });
const all = (...conditions: ConditionText[]): FilterText => ({ any: false, conditions });
const WET = one({ column: "wet", type: "BOOLEAN", text: "true" });

test("R6, W1: a filter comes back from the address as it was built", () => {
  const filters: FilterText[] = [
    NO_FILTER,
    all(WET),
    { any: true, conditions: [WET, one({ column: "n", comparator: "GREATER_EQUAL", type: "INTEGER", text: "-3", not: true, keepMissing: true })] },
    all(one({ column: "note", comparator: "NOT_EXIST" }), one({ column: "note", comparator: "EXIST", not: true })),
    all(one({ column: "text", text: 'a "quoted" & odd? #text' }), one({ column: "", text: "" })),
  ];
  for (const filter of filters) assert.deepEqual(parseFilter(formatFilter(filter)), filter);
  assert.equal(formatFilter(NO_FILTER), undefined);
});

test("R6, W1: an address with a filter that cannot be read is refused: it would show other rows than were meant", () => {
  const wrong = ["x", "{}", "[]", '["some"]', '["all",1]', '["all",["a"]]', '["all",["a","LIKE","STRING","x"]]', '["all",["a","EQUAL","DATE","x"]]'];
  for (const said of [...wrong, '["all",["a","EQUAL","STRING"]]', '["all",["a","EXIST","STRING","x"]]', '["all",["a","EQUAL",1,"x"]]'])
    assert.throws(() => parseFilter(said), /cannot be read/, said);
});

test("R6, W1: a filter that breaks a rule is refused, and the rule is named", () => {
  assert.throws(() => toFilter(all(WET, one({}))), /Condition 2: name the column/);
  assert.throws(() => toFilter(all(one({ column: "n", type: "INTEGER", text: "3.5" }))), /Condition 1, on n: “3.5” is not an integer/);
  const many = Array.from({ length: 31 }, () => WET);
  assert.ok(toFilter(all(...many)), "31 and their AND");
  assert.throws(() => toFilter(all(...many, WET)), /at most 32 comparisons and operators, and this one has 33/);
  assert.throws(() => toFilter(all({ ...WET, not: true }, ...many.slice(1))), /has 33/, "a NOT is an operator too");
  assert.equal(toFilter(NO_FILTER), undefined);
});

/** The ids of the rows of an instance that pass a filter. */
async function passing(db: Database, filter: FilterText): Promise<string> {
  const ids: string[] = [];
  for await (const row of db.scan({ tableName: "t", filter: toFilter(filter) })) ids.push(String(row.primaryKey.id));
  return ids.join("");
}

test("R6: what the conditions say is what the store does: types, all or any, not, and rows without the column", async () => {
  const db = await open("filters", { storage: "memory" });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
  const rows = { a: { n: 1 }, b: { n: 2, wet: true }, c: { n: double(2) }, d: { wet: false }, e: {} };
  for (const [id, attributes] of Object.entries(rows)) await db.putRow({ tableName: "t", primaryKey: { id }, attributes });
  const n = one({ column: "n", comparator: "GREATER_EQUAL", type: "INTEGER", text: "2" });
  assert.equal(await passing(db, all(n)), "b");
  assert.equal(await passing(db, all({ ...n, keepMissing: true })), "bde");
  assert.equal(await passing(db, all({ ...n, not: true })), "ac", "a value of another type does not match, so NOT passes it");
  assert.equal(await passing(db, all({ ...n, not: true, keepMissing: true })), "acde");
  assert.equal(await passing(db, all(n, WET)), "b");
  assert.equal(await passing(db, { any: true, conditions: [n, { ...WET, text: "false" }] }), "bd");
  assert.equal(await passing(db, all(one({ column: "wet", comparator: "NOT_EXIST" }), one({ column: "id", comparator: "NOT_EQUAL", text: "a" }))), "ce");
  await db.close();
});

test("R3: a range that is read backward counts as many rows as it shows", async () => {
  const db = await open("counted", { storage: "memory", integers: "bigint" });
  const schema = [
    { name: "s", type: "STRING" },
    { name: "n", type: "INTEGER" },
  ] as const;
  await db.createTable({ tableName: "t", primaryKey: schema });
  const numbers = [-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n];
  for (const s of ["", "a", "a\0", "b"]) for (const n of numbers) await db.putRow({ tableName: "t", primaryKey: { s, n } });
  for (const direction of ["FORWARD", "BACKWARD"] as const) {
    const from = { s: direction === "FORWARD" ? "" : "b", n: 1n };
    for (const n of numbers) {
      const ends = { start: from, end: { s: "a", n } };
      const { rows } = await db.getRange({ tableName: "t", direction, ...ends });
      const { count } = await db.count({ tableName: "t", ...ascending(schema, { direction, ...ends }) });
      assert.equal(count, rows.length, `${direction} to ${n}`);
    }
  }
  assert.deepEqual(ascending(schema, { direction: "BACKWARD", start: undefined, end: undefined }), {});
  const bytes = [{ name: "b", type: "BINARY" }] as const;
  const back = ascending(bytes, { direction: "BACKWARD", start: { b: Uint8Array.of(7) }, end: undefined });
  assert.deepEqual(back, { end: { b: Uint8Array.of(7, 0) } });
  await db.close();
});
