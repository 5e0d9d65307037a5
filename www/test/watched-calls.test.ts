import assert from "node:assert/strict";
import { test } from "node:test";

import { type Database, open } from "tabstore";

import { placeOf, watched } from "../src/code/calls.ts";
import type { EndedCall } from "../src/lib/ended-call.ts";

test("W1: the calls of a program are told of with what they cost, and their errors have the place of the call", async () => {
  const own = await open("watched", { storage: "memory" });
  const made: EndedCall[] = [];
  const db = watched(own, (call) => made.push(call));
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { n: 1 } });
  const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 1 } });
  assert.equal(row?.get("n"), 1);
  assert.deepEqual(
    made.map(({ operation, subject, consumed, error }) => [operation, subject, consumed?.read, consumed?.write, error]),
    [
      ["CreateTable", "t", undefined, undefined, undefined],
      ["PutRow", "t", 0, 1, undefined],
      ["GetRow", "t", 1, 0, undefined],
    ],
  );
  const failing: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
    call: (db) => db.getRow({ tableName: "none", primaryKey: { id: 1 } }),
    other: (db) => db.setClock(5),
    loop: async (db) => {
      for await (const row of db.scan({ tableName: "none" })) assert.fail(String(row));
    },
  };
  for (const [name, fail] of Object.entries(failing)) {
    await assert.rejects(fail(db), (error) => new RegExp(`\\b${name}\\b`).test(placeOf(error) ?? ""), name);
  }
  assert.equal(made.at(-1)?.error?.code, "OTSObjectNotExist", "a refused call is told of too");
  const rows: unknown[] = [];
  for await (const one of db.scan({ tableName: "t" })) rows.push(one.toObject());
  assert.deepEqual(rows, [{ id: 1, n: 1 }]);
  for await (const { rows: now } of db.watch({ tableName: "t" })) {
    assert.equal(now.length, 1);
    break;
  }
  await db.close();
});
