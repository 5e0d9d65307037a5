import assert from "node:assert/strict";
import { test } from "node:test";

import { type CreateTableRequest, type KeyColumn, open } from "tabstore";

import {
  definedTrouble,
  type IndexText,
  indexTrouble,
  inFamilies,
  moreTrouble,
  type MoreText,
  NEW_INDEX,
  NO_MORE,
  NO_STREAM,
  optionsTrouble,
  toMore,
} from "../src/lib/table-schema.ts";

const KEY: readonly KeyColumn[] = [
  { name: "shop", type: "STRING" },
  { name: "id", type: "INTEGER" },
];
const TABLE = {
  primaryKey: KEY,
  definedColumns: [
    { name: "customer", type: "STRING" },
    { name: "total", type: "DOUBLE" },
  ],
} as const;
const index = (change: Partial<IndexText>): IndexText => ({ ...NEW_INDEX, indexName: "by_customer", primaryKey: ["customer"], ...change });

test("T8, W1: the form of an index names the rule that it breaks", () => {
  assert.equal(indexTrouble(index({}), TABLE, 0), undefined);
  assert.equal(indexTrouble(index({ primaryKey: ["id", "customer"] }), TABLE, 4), undefined);
  assert.match(indexTrouble(index({}), TABLE, 5) ?? "", /at most 5 indexes/);
  assert.match(indexTrouble(index({ indexName: "1st" }), TABLE, 0) ?? "", /first no digit/);
  assert.match(indexTrouble(index({ primaryKey: ["customer", ""] }), TABLE, 0) ?? "", /choose key column 2/);
  assert.match(indexTrouble(index({ primaryKey: ["total"] }), TABLE, 0) ?? "", /choose key column 1/, "a DOUBLE sorts in no key");
  assert.match(indexTrouble(index({ primaryKey: ["id", "id"] }), TABLE, 0) ?? "", /has id twice/);
  assert.match(indexTrouble(index({ type: "LOCAL" }), TABLE, 0) ?? "", /begins with shop/);
  assert.equal(indexTrouble(index({ type: "LOCAL", primaryKey: ["shop", "customer"] }), TABLE, 0), undefined);
  assert.match(indexTrouble(index({ primaryKey: ["shop"] }), TABLE, 0) ?? "", /sort as the table does/);
});

test("T8, W1: defined columns and options of a table with an index keep their rules", () => {
  const defined = (...names: string[]) =>
    definedTrouble(
      KEY,
      names.map((name) => ({ name, type: "STRING" })),
    );
  assert.equal(defined("a", "b"), undefined);
  assert.match(defined("a", "") ?? "", /Defined column 2/);
  assert.match(defined("shop") ?? "", /the key has a column of that name/);
  assert.match(defined("a", "a") ?? "", /Two defined columns/);
  assert.match(defined(...Array.from({ length: 33 }, (_, at) => `c${at}`)) ?? "", /at most 32/);
  assert.equal(optionsTrouble({}), undefined);
  assert.match(optionsTrouble({ maxVersions: 3 }) ?? "", /max versions is 3/);
  assert.match(optionsTrouble({ timeToLive: 86400 }) ?? "", /UpdateRow/);
  assert.equal(optionsTrouble({ timeToLive: 86400, allowUpdate: false }), undefined);
});

test("T8, ST1, R7: what the form of a new table says is what the store makes", async () => {
  const more: MoreText = {
    definedColumns: TABLE.definedColumns,
    indexes: [index({ columns: ["total", "customer"] })],
    stream: { ...NO_STREAM, enabled: true, originColumns: " total, ,customer " },
    transactions: false,
  };
  assert.equal(moreTrouble(KEY, {}, more), undefined);
  assert.match(moreTrouble(KEY, { maxVersions: 2 }, more) ?? "", /keeps one version/);
  assert.match(moreTrouble(KEY, {}, { ...more, stream: { ...more.stream, hours: "169" } }) ?? "", /1 to 168/);
  assert.deepEqual(toMore(NO_MORE), {});
  const db = await open("schemas", { storage: "memory" });
  await db.createTable({ tableName: "orders", primaryKey: KEY, ...toMore(more) } as CreateTableRequest);
  const table = await db.describeTable("orders");
  assert.deepEqual(
    table.indexes.map(({ indexName, type, primaryKey, columns }) => ({ indexName, type, primaryKey, columns })),
    [{ indexName: "by_customer", type: "GLOBAL", primaryKey: ["customer"], columns: ["total"] }],
  );
  assert.deepEqual([table.stream?.expirationHours, table.stream?.originColumns, table.enableLocalTransaction], [24, ["total", "customer"], false]);
  await db.close();
});

test("T8, W1: an index stands below its table, and a table without one where it was", () => {
  const names = [
    { tableName: "a_by", indexOf: "b" },
    { tableName: "b", indexOf: null },
    { tableName: "c", indexOf: null },
    { tableName: "z_by", indexOf: "b" },
  ];
  assert.deepEqual(
    inFamilies(names).map(({ tableName }) => tableName),
    ["b", "a_by", "z_by", "c"],
  );
});
