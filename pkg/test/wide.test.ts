/** Conditions, filters, counters and keys that the store gives, on the real engine, as JavaScript sees them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database, WriterError } from "../src/index.js";
import { INF_MAX, INF_MIN } from "../src/types/values.js";
import { code, load, open, skip } from "./support/package.js";

const key = (id: number) => ({ tableName: "t", primaryKey: { id } });

async function table(db: Database, more: object = {}): Promise<void> {
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], ...more });
}

test("R6: filters in both notations choose the same rows, in every read", { skip }, async () => {
  const { col, double } = await load();
  const db = await open();
  await table(db);
  for (let id = 0; id < 40; id++)
    await db.putRow({ ...key(id), attributes: { n: id, half: double(id / 2), label: `no.${id}`, ...(id % 4 === 0 ? { fourth: true } : {}) } });
  const cases = [
    [col("n").ge(38), { column: "n", comparator: "GREATER_EQUAL", value: 38 }, [38, 39]],
    [col("half").lt(double(1)), { column: "half", comparator: "LESS_THAN", value: double(1) }, [0, 1]],
    [col("half").eq(1), { column: "half", comparator: "EQUAL", value: 1 }, []],
    [col("id").eq(7), { column: "id", comparator: "EQUAL", value: 7 }, [7]],
    [
      col("fourth").eq(true, { passIfMissing: false }).and(col("n").gt(30)),
      {
        operator: "AND",
        filters: [
          { column: "fourth", comparator: "EQUAL", value: true, passIfMissing: false },
          { column: "n", comparator: "GREATER_THAN", value: 30 },
        ],
      },
      [32, 36],
    ],
    [
      col("fourth").exists().not().and(col("n").lt(3)),
      {
        operator: "AND",
        filters: [
          { operator: "NOT", filters: [{ column: "fourth", comparator: "EXIST" }] },
          { column: "n", comparator: "LESS_THAN", value: 3 },
        ],
      },
      [1, 2],
    ],
    [
      col("label").transfer("no\\.(\\d+)", "INTEGER").gt(37),
      { column: "label", comparator: "GREATER_THAN", value: 37, valueTransferRule: { regex: "no\\.(\\d+)", castType: "INTEGER" } },
      [38, 39],
    ],
    [
      col("label").transfer("\\d+", "DOUBLE").ge(39),
      { column: "label", comparator: "GREATER_EQUAL", value: 39, valueTransferRule: { regex: "\\d+", castType: "DOUBLE" } },
      [39],
    ],
  ] as const;
  for (const [built, plain, wanted] of cases) {
    for (const filter of [built, plain]) {
      assert.deepEqual(
        (await db.getRange({ tableName: "t", filter })).rows.map((row) => row.get("id")),
        wanted,
      );
      const scanned = [];
      for await (const row of db.scan({ tableName: "t", filter })) scanned.push(row.get("id"));
      assert.deepEqual(scanned, wanted);
      const [found] = await db.batchGetRow([{ tableName: "t", primaryKeys: Array.from({ length: 40 }, (_, id) => ({ id })), filter }]);
      assert.deepEqual(
        found.flatMap(({ row }) => row?.get("id") ?? []),
        wanted,
      );
      assert.equal((await db.getRow({ ...key(39), filter })).row !== null, (wanted as readonly number[]).includes(39));
    }
  }
  const page = await db.getRow({ ...key(4), filter: { offset: 1, limit: 2 } });
  assert.deepEqual(page.row?.columnNames, ["half", "label"]);
  assert.deepEqual((await db.getRow({ ...key(4), filter: col("n").eq(4).and({ offset: 3, limit: 9 }) })).row?.columnNames, ["n"]);
  for (const [filter, message] of [
    [col("n").eq(1).and(), /^Invalid AND\/OR operator: the number of sub-filters must be more than 1\./],
    [{ operator: "NOT", filters: [] }, /^Invalid NOT operator/],
    [{ offset: 0, limit: 0 }, /^Limit in ColumnPaginationFilter/],
    [{ offset: -1, limit: 1 }, /^Offset in ColumnPaginationFilter/],
    [col("n").transfer("(", "STRING").eq("x"), /regular expression/],
    [col("n").transfer("x".repeat(257), "STRING").eq("x"), /MaxLength:256/],
  ] as const)
    await assert.rejects(db.getRow({ ...key(1), filter: filter as never }), code("OTSParameterInvalid", message));
  await assert.rejects(db.putRow({ ...key(1), condition: { column: { offset: 0, limit: 1 } } }), code("OTSParameterInvalid", /Invalid type of filter/));
  await db.close();
});

test("Integers and Doubles never match each other, and a column of both is compared with both, as the texts say", { skip }, async () => {
  const { col, double } = await load();
  const db = await open();
  await table(db);
  const values = [12.8, 13, double(13), undefined, 11, double(11)];
  for (const [id, n] of values.entries()) await db.putRow({ ...key(id), attributes: n === undefined ? {} : { n } });
  const present = { passIfMissing: false };
  for (const [filter, wanted] of [
    [col("n").gt(12), [1, 3]],
    [col("n").gt(12, present), [1]],
    [col("n").gt(12.5, present), [0, 2]],
    [col("n").gt(double(12), present), [0, 2]],
    [col("n").gt(12, present).not(), [0, 2, 3, 4, 5]],
    [
      col("n")
        .gt(12, present)
        .or(col("n").gt(double(12), present)),
      [0, 1, 2],
    ],
  ] as const)
    assert.deepEqual(
      (await db.getRange({ tableName: "t", filter })).rows.map((row) => row.get("id")),
      wanted,
    );
  const { row } = await db.getRow(key(2));
  await db.updateRow({ ...key(2), put: { n: row!.get("n")!, same: double(row!.get("n") as number) } });
  const written = (await db.getRow(key(2))).row!;
  assert.deepEqual([row!.type("n"), written.type("n"), written.type("same")], ["DOUBLE", "INTEGER", "DOUBLE"]);
  await db.close();
});

test("a writer may put a row again into a table with indexes, and the index holds what was put last", { skip }, async () => {
  const db = await open();
  await table(db, { definedColumns: [{ name: "state", type: "STRING" }], indexes: [{ indexName: "by_state", primaryKey: ["state"] }] });
  const writer = db.writer("t");
  for (let n = 0; n < 500; n++) writer.put({ primaryKey: { id: n % 90 }, attributes: { state: n < 450 ? "new" : "old" } });
  assert.equal((await writer.close()).rows, 500);
  const { rows } = await db.getRange({ tableName: "by_state", start: { state: "old", id: INF_MIN }, end: { state: "old", id: INF_MAX } });
  assert.deepEqual(
    rows.map((row) => row.get("id")),
    Array.from({ length: 50 }, (_, id) => id),
  );
  await db.close();
});

test("R6: a condition decides and writes in one step: of 100 callers that compare and set, no update is lost", { skip }, async () => {
  const { col } = await load();
  const db = await open();
  await table(db);
  await db.putRow({ ...key(1), attributes: { n: 0 } });
  let failed = 0;
  const caller = async (): Promise<void> => {
    for (let round = 0; round < 5; ) {
      const n = (await db.getRow(key(1))).row!.get("n") as number;
      try {
        await db.putRow({ ...key(1), attributes: { n: n + 1 }, condition: { rowExistence: "EXPECT_EXIST", column: col("n").eq(n, { passIfMissing: false }) } });
        round++;
      } catch (error) {
        code("OTSConditionCheckFail", /Condition check failed/)(error);
        failed++;
      }
    }
  };
  await Promise.all(Array.from({ length: 100 }, caller));
  assert.equal((await db.getRow(key(1))).row?.get("n"), 500);
  assert.ok(failed > 0);
  // On a row that is missing every column is.
  await db.putRow({ ...key(2), attributes: { n: 1 }, condition: { column: { column: "n", comparator: "EQUAL", value: 5 } } });
  await assert.rejects(db.deleteRow({ ...key(3), condition: { column: col("n").eq(5, { passIfMissing: false }) } }), code("OTSConditionCheckFail"));
  const [ok, refused] = await db.batchWriteRow([
    { tableName: "t", update: { primaryKey: { id: 2 }, put: { m: 1 }, condition: { column: col("n").eq(1) } } },
    { tableName: "t", delete: { primaryKey: { id: 1 }, condition: { column: col("n").ne(500) } } },
  ]);
  assert.deepEqual([ok.ok, refused.error?.code, ok.consumed], [true, "OTSConditionCheckFail", { read: 1, write: 1 }]);
  await db.close();
});

test("R6: increments of 100 callers are counted exactly, past 2^53 too, and only where they can be", { skip }, async () => {
  const db = await open();
  await table(db);
  const start = 2n ** 53n - 50n;
  await db.putRow({ ...key(1), attributes: { big: start, text: "x" } });
  const results = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      if (i % 3 === 0) await Promise.resolve();
      return db.updateRow({ ...key(1), increment: { big: 1, fresh: -3n }, returnContent: { afterModify: ["fresh", "big"] } });
    }),
  );
  const { row } = await db.getRow(key(1));
  assert.deepEqual([row?.get("big"), row?.get("fresh")], [start + 100n, -300]);
  assert.equal(new Set(results.map((result) => result.row?.get("fresh"))).size, 100);
  await assert.rejects(db.updateRow({ ...key(1), increment: { text: 1 } }), code("OTSParameterInvalid"));
  await assert.rejects(db.updateRow({ ...key(1), increment: { big: 2n ** 63n - 1n } }), code("OTSParameterInvalid"));
  await assert.rejects(db.updateRow({ ...key(1), increment: { fresh: 1 }, returnContent: { afterModify: ["big"] } }), code("OTSParameterInvalid"));
  assert.equal((await db.getRow(key(1))).row?.get("fresh"), -300);
  await db.close();
});

test("R7: a transaction's writes are seen by its own reads only, until all of them are there at once", { skip }, async () => {
  const { col } = await load();
  const db = await open();
  await db.createTable({
    tableName: "account",
    primaryKey: [
      { name: "owner", type: "STRING" },
      { name: "kind", type: "STRING" },
    ],
  });
  const row = (kind: string, owner = "ann") => ({ tableName: "account", primaryKey: { owner, kind } });
  await db.putRow({ ...row("cash"), attributes: { balance: 100 } });
  const balances = async (from: Pick<Database, "getRange">): Promise<unknown[]> =>
    (await from.getRange({ tableName: "account", start: { owner: "ann", kind: "" }, end: { owner: "ann", kind: "z" } })).rows.map((one) => one.get("balance"));
  const tx = await db.startLocalTransaction({ tableName: "account", partitionKey: { owner: "ann" } });
  assert.deepEqual([tx.state, tx.consumed, tx.id.length > 0], ["OPEN", { read: 0, write: 1 }, true]);
  const results = await Promise.all([
    tx.updateRow({ ...row("cash"), increment: { balance: -10 }, condition: { column: col("balance").ge(10) } }),
    tx.putRow({ ...row("savings"), attributes: { balance: 10 } }),
    tx.batchWriteRow([{ tableName: "account", put: { primaryKey: { owner: "ann", kind: "bonds" }, attributes: { balance: 1 } } }]),
    tx.deleteRow(row("bonds")),
    tx.getRow(row("savings")),
  ]);
  assert.equal(results[4].row?.get("balance"), 10);
  assert.deepEqual([await balances(tx), await balances(db)], [[90, 10], [100]]);
  const scanned = [];
  for await (const one of tx.scan({ tableName: "account", start: { owner: "ann", kind: "" }, end: { owner: "ann", kind: "z" } })) scanned.push(one.get("kind"));
  assert.deepEqual(scanned, ["cash", "savings"]);
  await db.putRow({ ...row("cash", "bob"), attributes: { balance: 5 } });
  await assert.rejects(tx.putRow(row("cash", "bob")), code("OTSDataOutOfRange", /PartKey/));
  assert.deepEqual(await tx.commit(), { consumed: { read: 0, write: 1 } });
  assert.deepEqual([tx.state, await balances(db)], ["COMMITTED", [90, 10]]);
  for (const call of [() => tx.putRow(row("x")), () => tx.commit(), () => tx.abort(), () => tx.getRow(row("x"))])
    await assert.rejects(call, code("OTSSessionNotExist"));
  {
    await using block = await db.startLocalTransaction({ tableName: "account", partitionKey: { owner: "ann" } });
    await block.deleteRow(row("cash"));
    assert.deepEqual(await balances(block), [10]);
  }
  assert.deepEqual(await balances(db), [90, 10]);
  await db.close();
});

test("R7: others wait for a transaction by themselves, and are refused where they may not wait", { skip }, async () => {
  const db = await open({ retry: { minDelay: 5, maxDelay: 20, attempts: 50 } });
  await table(db);
  const tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  await tx.putRow({ ...key(1), attributes: { from: "inside", n: 1 } });
  const order: string[] = [];
  const note = (what: string) => (): void => void order.push(what);
  const outside = [
    db.updateRow({ ...key(1), put: { from: "outside" } }).then(note("update")),
    db.updateRow({ ...key(1), increment: { n: 1 } }).then(note("increment")),
    db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } }).then(async (next) => {
      note("start")();
      await next.abort();
    }),
    db
      .batchWriteRow([
        { tableName: "t", update: { primaryKey: { id: 1 }, increment: { n: 1 } } },
        { tableName: "t", put: { primaryKey: { id: 2 } } },
      ])
      .then((results) => assert.ok(results.every(({ ok }) => ok))),
    db
      .batchWriteRow([{ tableName: "t", update: { primaryKey: { id: 1 }, increment: { n: 1 } } }], { atomic: true })
      .then((results) => assert.ok(results.every(({ ok }) => ok))),
  ];
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(order.length, 0);
  await tx.commit();
  await Promise.all(outside);
  assert.ok(order.indexOf("update") < order.indexOf("increment"));
  const { row } = await db.getRow(key(1));
  assert.deepEqual([row?.get("from"), row?.get("n")], ["outside", 4]);
  const first = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  const late = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 9 } });
  await db.close();
  const other = await open({ retry: false });
  await table(other);
  await other.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  await assert.rejects(other.putRow(key(1)), code("OTSRowOperationConflict", /modified by the other request/));
  await assert.rejects(other.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } }), code("OTSRowOperationConflict"));
  await assert.rejects(
    other.startLocalTransaction({ tableName: "t", partitionKey: { id: 1, at: 2 } }),
    code("OTSParameterInvalid", /StartLocalTransaction support only one primary key/),
  );
  await assert.rejects(other.startLocalTransaction({ tableName: "nope", partitionKey: { id: 1 } }), code("OTSObjectNotExist"));
  for (const tx of [first, late]) await assert.rejects(tx.commit(), code("Closed"));
  await other.close();
});

test("R7: an atomic batch writes all of its rows or none", { skip }, async () => {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "id", type: "INTEGER" },
      { name: "at", type: "INTEGER" },
    ],
  });
  const put = (at: number, condition?: object, id = 1) => ({
    tableName: "t",
    put: { primaryKey: { id, at }, attributes: { n: at }, ...(condition ? { condition } : {}) },
  });
  const all = await db.batchWriteRow(
    [put(1), put(2), { tableName: "t", update: { primaryKey: { id: 1, at: 3 }, put: { n: 1 }, returnContent: "PRIMARY_KEY" } }],
    { atomic: true },
  );
  assert.deepEqual(
    all.map(({ ok, row }) => [ok, row?.primaryKey.at]),
    [
      [true, undefined],
      [true, undefined],
      [true, 3],
    ],
  );
  const none = await db.batchWriteRow([put(4), put(1, { rowExistence: "EXPECT_NOT_EXIST" }), put(5)], { atomic: true });
  assert.deepEqual(
    none.map(({ error }) => error?.code),
    ["OTSConditionCheckFail", "OTSConditionCheckFail", "OTSConditionCheckFail"],
  );
  const scattered = await db.batchWriteRow([put(4), put(4, undefined, 2)], { atomic: true });
  assert.deepEqual(
    scattered.map(({ error }) => error?.code),
    ["OTSDataOutOfRange", "OTSDataOutOfRange"],
  );
  assert.equal((await db.getRange({ tableName: "t" })).rows.length, 3);
  for (const [options, message] of [
    [{ atomic: 1 }, /'atomic' is a number/],
    [{ atomically: true }, /Unknown argument 'atomically'/],
    [5, /'batchWriteRow' is a number/],
  ] as const) {
    await assert.rejects(db.batchWriteRow([put(4)], options as never), code("OTSParameterInvalid", message));
  }
  await db.close();
});

test("R4, R8: a writer's row with a long key or with too many columns is refused alone, and the rows beside it are stored", { skip }, async () => {
  const wrong = {
    "a key of 1,100 bytes": { primaryKey: { k: "x".repeat(1100) }, attributes: { v: 1 } },
    "1,100 columns": { primaryKey: { k: "m" }, attributes: Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`c${i}`, 1])) },
  };
  for (const [what, row] of Object.entries(wrong)) {
    const db = await open();
    await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
    const writer = db.writer("t");
    for (const one of [{ primaryKey: { k: "a" } }, row, { primaryKey: { k: "b" } }, row, { primaryKey: { k: "c" } }]) void writer.put(one);
    await assert.rejects(writer.close(), (error: WriterError) => error.stored === 3 && error.failed === 2 && error.code === "OTSParameterInvalid", what);
    assert.equal((await db.count({ tableName: "t" })).count, 3, what);
    await db.close();
  }
});
