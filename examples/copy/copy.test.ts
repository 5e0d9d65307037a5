/** The copy equals the table, whatever is written and whenever the copying is stopped. */

import "fake-indexeddb/auto";

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { test } from "node:test";
import type { Database } from "tabstore";

import { openThings, random, restarted, TABLE, write } from "../support/writes.ts";
import { type Copy, copyTable, keyOf, openCopy } from "./copy.ts";

async function inTable(db: Database): Promise<Map<string, unknown>> {
  const rows = new Map<string, unknown>();
  for await (const row of db.scan({ tableName: TABLE })) rows.set(JSON.stringify(keyOf(row.primaryKey)), { ...row.toObject() });
  return rows;
}

async function inCopy(copy: Copy): Promise<Map<string, unknown>> {
  const [keys, rows] = await Promise.all([copy.getAllKeys("rows"), copy.getAll("rows")]);
  return new Map(keys.map((key, at) => [JSON.stringify(key), rows[at]]));
}

for (const maxVersions of [1, 3]) {
  test(`ST4: a copy that is stopped and goes on at random equals the table, deletes included (${maxVersions} versions)`, async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const db = await openThings(maxVersions, seed % 2 === 0 ? 700 : 0);
      const copy = await openCopy(`random-${maxVersions}-${seed}`);
      await restarted(
        db,
        seed,
        { versions: true },
        (signal) => copyTable(db, TABLE, copy, signal),
        async () => isDeepStrictEqual(await inCopy(copy), await inTable(db)),
      );
      const wanted = await inTable(db);
      assert.deepEqual(await inCopy(copy), wanted, `seed ${seed}`);
      assert.ok(wanted.size > 50, `only ${wanted.size} rows`);
      copy.close();
      await db.close();
    }
  });
}

test("ST4: a copy goes on behind the last stored change, and copies no other row", async () => {
  const db = await openThings(1, 1200);
  const copy = await openCopy("on");
  const steps = async (most: number): Promise<number[]> => {
    const put: number[] = [];
    for await (const step of copyTable(db, TABLE, copy)) if (put.push(step.put) === most) break;
    return put;
  };
  await db.putRow({ tableName: TABLE, primaryKey: { kind: "z", id: 1 } });
  assert.deepEqual(await steps(1), [500]);
  assert.deepEqual(await steps(2), [500, 201]);
  await db.putRow({ tableName: TABLE, primaryKey: { kind: "z", id: 2 } });
  assert.deepEqual(await steps(1), [1]);
  await db.deleteRow({ tableName: TABLE, primaryKey: { kind: "z", id: 2 } });
  for await (const step of copyTable(db, TABLE, copy)) {
    assert.deepEqual(step, { put: 0, deleted: 1 });
    break;
  }
  assert.deepEqual(await inCopy(copy), await inTable(db));
  copy.close();
  await db.close();
});

for (const seen of [0, 30]) {
  test(`ST4: a copy whose place in the stream has expired begins anew, and forgets what was deleted meanwhile (${seen} changes seen)`, {
    timeout: 60_000,
  }, async () => {
    const db = await openThings(1, 30);
    const copy = await openCopy(`expired-${seen}`);
    const run = async (): Promise<void> => {
      for await (const _ of copyTable(db, TABLE, copy)) if (isDeepStrictEqual(await inCopy(copy), await inTable(db))) break;
    };
    await write(db, random(9), seen);
    await run();
    for (let id = 0; id < 10; id++) await db.deleteRow({ tableName: TABLE, primaryKey: { kind: `k${id % 3}`, id } });
    await db.setClock(1_700_000_000_000 + 5 * 3_600_000);
    await db.putRow({ tableName: TABLE, primaryKey: { kind: "new", id: 1 } });
    await run();
    // The stream may be another one too.
    await db.updateTable({ tableName: TABLE, stream: { enabled: false } });
    await db.deleteRow({ tableName: TABLE, primaryKey: { kind: "new", id: 1 } });
    await db.updateTable({ tableName: TABLE, stream: { enabled: true, expirationHours: 1 } });
    await run();
    assert.deepEqual(await inCopy(copy), await inTable(db));
    copy.close();
    await db.close();
  });
}
