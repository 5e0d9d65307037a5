/** Rows as objects: their members, their copies, and their immutability. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageChannel } from "node:worker_threads";

import type { Database, Row } from "../src/index.js";
import { open, skip } from "./support/package.js";

const V = 1_700_000_000_000;

async function withRows(): Promise<{ db: Database; rows: readonly Row[] }> {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "id", type: "INTEGER" },
      { name: "bin", type: "BINARY" },
    ],
    maxVersions: 3,
    maxVersionOffset: 10 ** 9,
  });
  for (const id of [1, 2, 3]) {
    await db.putRow({
      tableName: "t",
      primaryKey: { id, bin: Uint8Array.of(id) },
      attributes: {
        note: [
          { value: `fog ${id}`, version: V },
          { value: "sun", version: V - 1 },
        ],
        constructor: id,
        __proto__x: true,
      },
    });
    await db.updateRow({ tableName: "t", primaryKey: { id, bin: Uint8Array.of(id) }, put: { raw: [{ value: Uint8Array.of(1, 2, 3), version: V }] } });
  }
  const rows = [...(await db.getRange({ tableName: "t", maxVersions: 3 })).rows];
  for await (const row of db.scan({ tableName: "t", maxVersions: 3 })) rows.push(row);
  const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 1, bin: Uint8Array.of(1) }, maxVersions: 3 });
  return { db, rows: [...rows, row!] };
}

/** The expected members of every copy of a row. */
function check(copy: Pick<Row, "primaryKey" | "columns">, row: Row): void {
  assert.deepEqual({ ...copy.primaryKey }, row.primaryKey);
  assert.deepEqual(Object.keys(copy.columns), row.columnNames);
  assert.deepEqual(
    copy.columns.note?.map(({ value, version }) => [value, version]),
    [
      [`fog ${row.get("id") as number}`, V],
      ["sun", V - 1],
    ],
  );
  assert.deepEqual(copy.columns.raw?.[0]?.value, Uint8Array.of(1, 2, 3));
}

test("D1: a spread, an assignment, a structured clone and a message of a row show its key and its columns", { skip }, async () => {
  const { db, rows } = await withRows();
  for (const row of rows) {
    check({ ...row }, row);
    check(Object.assign({}, row), row);
    check(structuredClone(row), row);
    const { port1, port2 } = new MessageChannel();
    const arrived = new Promise<Row>((resolve) => port2.once("message", resolve));
    port1.postMessage(row);
    check(await arrived, row);
    port1.close();
    assert.deepEqual(Object.keys(row), ["primaryKey", "columns"]);
    assert.deepEqual(
      JSON.parse(JSON.stringify(row)),
      JSON.parse(JSON.stringify({ ...row.toObject(), raw: [1, 2, 3], bin: [...(row.get("bin") as Uint8Array)] })),
    );
  }
  assert.notDeepEqual(rows[0], rows[1]);
  assert.deepEqual(rows[0], rows[3]);
  await db.close();
});

test("T2: the columns of a row have no members but its columns", { skip }, async () => {
  const { db, rows } = await withRows();
  await db.putRow({ tableName: "t", primaryKey: { id: 9, bin: new Uint8Array() } });
  const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 9, bin: new Uint8Array() } });
  for (const name of ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf"]) {
    assert.equal(row?.columns[name], undefined);
    assert.equal(name in row!.columns, false);
  }
  assert.equal(Object.getPrototypeOf(rows[0]!.columns), null);
  assert.deepEqual(Object.entries(rows[0]!.columns).find(([name]) => name === "constructor")?.[1][0]?.value, 1);
  await db.close();
});

test("D1: names come in byte order in columnNames, and in columns where they are no numbers", { skip }, async () => {
  const db = await open({ limits: "sdk" });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const names = ["b", "a", "Z", "_", "a1", "a10", "a2", "10", "9", "2"];
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: Object.fromEntries(names.map((name) => [name, 1])) });
  const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 1 } });
  assert.deepEqual(row?.columnNames, [...names].sort());
  assert.deepEqual(Object.keys(row!.columns), ["2", "9", "10", ...names.filter((name) => !/^\d/.test(name)).sort()]);
  await db.close();
});

test("R5: nothing that a row has given away changes the row", { skip }, async () => {
  const { db, rows } = await withRows();
  for (const row of rows) {
    const before = JSON.stringify([row, row.primaryKey, row.columns, row.columnNames]);
    const attempts: (() => unknown)[] = [
      () => ((row.columns as Record<string, unknown>).note = []),
      () => delete (row.columns as Record<string, unknown>).note,
      () => (row.columns.note as unknown[]).push({ value: 1 }),
      () => ((row.columns.note![0] as { value: unknown }).value = "other"),
      () => (row.columnNames as string[]).push("x"),
      () => (row.columnNames as string[]).reverse(),
      () => ((row.primaryKey as Record<string, unknown>).id = 99),
      () => delete (row.primaryKey as Record<string, unknown>).id,
      () => ((row.toObject() as Record<string, unknown>).id = 99),
      () => ((row.get("raw") as Uint8Array)[0] = 99),
      () => ((row.columns.raw![0]!.value as Uint8Array)[0] = 99),
      () => ((row.toObject().raw as Uint8Array)[0] = 99),
      () => ((row.primaryKey.bin as Uint8Array)[0] = 99),
      () => ((row.get("bin") as Uint8Array)[0] = 99),
      () => ((row as { primaryKey: unknown }).primaryKey = {}),
      () => ((row as { columns: unknown }).columns = {}),
    ];
    for (const attempt of attempts) {
      try {
        attempt();
      } catch (error) {
        assert.ok(error instanceof TypeError, String(error));
      }
      assert.equal(JSON.stringify([row, row.primaryKey, row.columns, row.columnNames]), before, String(attempt));
    }
  }
  await db.close();
});
