import assert from "node:assert/strict";
import { test } from "node:test";

import { col, type Database, double, type Filter, open, type TableDescription } from "tabstore";
import { linesOf } from "tabstore/shell";

import {
  type ConditionText,
  conditionsIn,
  formatFilter,
  type FilterText,
  NEW_CONDITION,
  NO_FILTER,
  parseFilter,
  type PartText,
  toFilter,
} from "../src/lib/filters.ts";
import { filterFromShell, fromFilter } from "../src/lib/from-filter.ts";
import { ascending } from "../src/lib/keys.ts";

const one = (change: Partial<ConditionText>): ConditionText => ({ ...NEW_CONDITION, ...change });
const all = (...parts: PartText[]): FilterText => ({ any: false, not: false, parts });
const any = (...parts: PartText[]): FilterText => ({ any: true, not: false, parts });
const not = (group: FilterText): FilterText => ({ ...group, not: true });
const WET = one({ column: "wet", type: "BOOLEAN", text: "true" });

test("R6, W1: a filter comes back from the address as it was built", () => {
  const filters: FilterText[] = [
    NO_FILTER,
    all(WET),
    any(WET, one({ column: "n", comparator: "GREATER_EQUAL", type: "INTEGER", text: "-3", not: true, keepMissing: true })),
    all(one({ column: "note", comparator: "NOT_EXIST" }), one({ column: "note", comparator: "EXIST", not: true })),
    all(one({ column: "text", text: 'a "quoted" & odd? #text' }), one({ column: "", text: "" })),
    all(any(WET, not(all(WET, one({ column: "n", text: "1" })))), WET),
    not(any(not(all(not(any(WET, WET)))), WET)),
    // Columns with the words of groups for names.
    any(one({ column: "not", text: "all" }), one({ column: "any", comparator: "EXIST" }), all(one({ column: "all", text: "" }))),
  ];
  for (const filter of filters) assert.deepEqual(parseFilter(formatFilter(filter)), filter);
  for (const empty of [NO_FILTER, not(NO_FILTER), all(any(), all(any()))]) assert.equal(formatFilter(empty), undefined);
  assert.equal(conditionsIn(all(any(WET, all(WET)), WET)), 3);
});

test("R6, W1: an address with a filter that cannot be read is refused: it would show other rows than were meant", () => {
  const groups = ['["all",["any",1]]', '["not"]', '["not",["all"],["all"]]', '["not",["not",["all"]]]', '["all",["none",["a","EXIST"]]]'];
  const wrong = [...groups, "x", "{}", "[]", '["some"]', '["all",1]', '["all",["a"]]', '["all",["a","LIKE","STRING","x"]]', '["all",["a","EQUAL","DATE","x"]]'];
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
  assert.equal(toFilter(not(all(any()))), undefined, "nothing is left of groups without conditions");
  assert.throws(() => toFilter(all(WET, any(WET, all(WET, one({}))))), /Condition 2\.2\.2: name the column/);
  assert.throws(() => toFilter(all(...many.slice(2), not(any(WET, WET)))), /has 34/, "groups and their NOT count");
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
  assert.equal(await passing(db, any(n, { ...WET, text: "false" })), "bd");
  assert.equal(await passing(db, all(one({ column: "wet", comparator: "NOT_EXIST" }), one({ column: "id", comparator: "NOT_EQUAL", text: "a" }))), "ce");
  const id = (text: string) => one({ column: "id", text });
  assert.equal(await passing(db, all(any(id("a"), id("b"), id("d")), not(any(WET, id("a"))))), "d");
  assert.equal(await passing(db, not(all(any(id("a"), id("b"))))), "cde", "a group of one group");
  assert.equal(await passing(db, any(all(n, WET), not(all(one({ column: "n", comparator: "EXIST" }), any(WET, id("c"), id("a")))))), "bde");
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

test("R6, W1: a filter of the package comes into the form and back, and what the form does not have is named", () => {
  const passes = { passIfMissing: true };
  const fails = { passIfMissing: false };
  const filters: Filter[] = [
    col("n").gt(5, passes),
    col("n").gt(double(5), fails),
    col("n")
      .lt(2n ** 62n, passes)
      .not(),
    col("a")
      .exists()
      .and(
        col("b").notExists().not(),
        col("c")
          .eq("x", fails)
          .or(col("d").ne(true, passes), col("e").le(Uint8Array.of(1, 255), passes)),
      ),
    col("a").eq(1.5, passes).or(col("b").eq(-1, fails)).not(),
    col("a").eq("x", passes).not().not(),
  ];
  // The shell writes a filter in one way, whether its integers are bigint or not.
  const said = (filter: Filter) => linesOf({ operation: "scan", request: { tableName: "t", filter } }, undefined).lines;
  for (const filter of filters) {
    const shown = fromFilter(filter);
    assert.deepEqual(said(toFilter(shown)!), said(filter));
    assert.deepEqual(parseFilter(formatFilter(shown)), shown, "and through the address");
  }
  assert.deepEqual(fromFilter(col("n").eq(1)), fromFilter(col("n").eq(1, passes)), "a row without the column passes, unless the filter says otherwise");
  assert.throws(() => fromFilter(col("n").transfer("(\\d+)", "INTEGER").gt(1)), /valueTransferRule, on n/);
  assert.throws(() => fromFilter(col("n").gt(1, { latestVersionOnly: false })), /latestVersionOnly, on n/);
  assert.throws(() => fromFilter({ offset: 0, limit: 1 }), /offset and limit/);
});

test("R6, W2: a filter that was written in the shell comes into the form, as a line or alone", async () => {
  const table = { tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] } as unknown as TableDescription;
  const filter =
    '{"operator":"OR","filters":[{"column":"n","comparator":"EQUAL","value":2.0,"passIfMissing":false},{"operator":"NOT","filters":[{"column":"wet","comparator":"EQUAL","value":true}]}]}';
  const shown = any(one({ column: "n", type: "DOUBLE", text: "2.0" }), one({ column: "wet", type: "BOOLEAN", text: "true", not: true }));
  for (const line of [filter, `scan --limit 5 --filter '${filter}'`, `get --pk ["a"] --filter '${filter}'`])
    assert.deepEqual(await filterFromShell(line, table), shown, line);
  await assert.rejects(filterFromShell("scan", table), /no filter in this line/);
  await assert.rejects(filterFromShell("list", table), /no filter in this line/);
  await assert.rejects(filterFromShell('{"column":', table), /JSON/);
});
