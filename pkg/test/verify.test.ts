/** `verify` finds texts that an earlier version stored as NULs. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { code, open, skip } from "./support/package.js";

test("D2: verify names table, key, column and version of every text that holds NULs only, and nothing else", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "sound", primaryKey: [{ name: "id", type: "STRING" }] });
  for (let i = 0; i < 6000; i++)
    void db.putRow({ tableName: "sound", primaryKey: { id: `é${i}` }, attributes: { a: "", b: "a\0b", c: "\0é", d: new Uint8Array(3), e: 0 } });
  await db.createTable({
    tableName: "damaged",
    primaryKey: [
      { name: "city", type: "STRING" },
      { name: "n", type: "INTEGER" },
      { name: "bytes", type: "BINARY" },
    ],
    maxVersions: 3,
    maxVersionOffset: 10 ** 9,
  });
  await db.createTable({
    tableName: "base",
    primaryKey: [{ name: "id", type: "INTEGER" }],
    definedColumns: [{ name: "unit", type: "STRING" }],
    indexes: [{ indexName: "by_unit", primaryKey: ["unit"] }],
  });
  const bytes = new Uint8Array(2);
  await db.putRow({ tableName: "damaged", primaryKey: { city: "\0\0", n: 1, bytes }, attributes: { unit: "\0\0\0", note: "fine" } });
  await db.putRow({
    tableName: "damaged",
    primaryKey: { city: "Köln", n: 2, bytes },
    attributes: {
      unit: [
        { value: "°C", version: 1_700_000_000_002 },
        { value: "\0\0", version: 1_700_000_000_001 },
        { value: "\0\0\0\0\0\0", version: 1_700_000_000_000 },
      ],
    },
  });
  await db.putRow({ tableName: "base", primaryKey: { id: 1 }, attributes: { unit: "\0\0" } });
  const found = [];
  for await (const one of db.verify({ texts: true })) found.push(one);
  assert.deepEqual(
    found.map(({ tableName, primaryKey, place, column, length }) => [tableName, primaryKey, place, column, length]),
    [
      ["base", { id: 1 }, "attribute", "unit", 2],
      ["damaged", { city: "\0\0", n: 1, bytes }, "primaryKey", "city", 2],
      ["damaged", { city: "\0\0", n: 1, bytes }, "attribute", "unit", 3],
      ["damaged", { city: "Köln", n: 2, bytes }, "attribute", "unit", 2],
      ["damaged", { city: "Köln", n: 2, bytes }, "attribute", "unit", 6],
    ],
  );
  assert.deepEqual(found.map(({ version }) => version).slice(3), [1_700_000_000_001, 1_700_000_000_000]);
  assert.equal(found[1]!.version, undefined);
  // The found rows can be taken away.
  await db.deleteRow({ tableName: "damaged", primaryKey: found[1]!.primaryKey });
  await db.updateRow({ tableName: "damaged", primaryKey: found[3]!.primaryKey, deleteVersions: { unit: [found[3]!.version!, found[4]!.version!] } });
  await db.deleteRow({ tableName: "base", primaryKey: { id: 1 } });
  for await (const one of db.verify({ texts: true })) assert.fail(JSON.stringify(one));
  await db.close();
});

test("verify refuses what it does not know, and ends by its signal and with its database", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
  for (const id of ["\0\0", "\0\0\0"]) await db.putRow({ tableName: "t", primaryKey: { id } });
  for (const wrong of [undefined, {}, { texts: false }, { texts: true, blocks: true }, { text: true }])
    await assert.rejects(async () => db.verify(wrong as never).next(), code("OTSParameterInvalid"));
  await assert.rejects(async () => db.verify({ texts: true, signal: AbortSignal.abort(new Error("enough")) }).next(), /enough/);
  const some = db.verify({ texts: true });
  assert.equal((await some.next()).done, false);
  await db.close();
  await assert.rejects(async () => {
    for (;;) if ((await some.next()).done) return;
  }, code("Closed"));
});
