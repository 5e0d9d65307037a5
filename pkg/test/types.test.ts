/** The allowed and the forbidden types: this file is compiled, and hardly run. */

import { test } from "node:test";

import {
  AUTO_INCREMENT,
  col,
  type Database,
  type Filter,
  INF_MAX,
  INF_MIN,
  inspectImport,
  type Prices,
  type RangeKey,
  type Row,
  type Transaction,
} from "../src/index.js";

const tableName = "t";
const primaryKey = { room: "lobby", id: AUTO_INCREMENT };
const known = { room: "lobby", id: 1 };

async function allowed(db: Database, tx: Transaction, signal: AbortSignal | undefined): Promise<void> {
  const filter: Filter = { operator: "AND", filters: [col("a").eq(1).or({ column: "b", comparator: "EXIST" }).not(), { offset: 0, limit: 5 }] };
  await db.putRow({ tableName, primaryKey, condition: { column: filter } });
  await db.updateRow({ tableName, primaryKey, put: { a: 1 } });
  await db.batchWriteRow(
    [
      { tableName, put: { primaryKey } },
      { tableName, delete: { primaryKey: known } },
    ],
    { atomic: true },
  );
  db.writer(tableName).put({ primaryKey });
  for await (const row of db.scan({ tableName, start: { room: "lobby", id: INF_MIN }, end: { room: "lobby", id: INF_MAX }, filter })) row.get("a");
  for (let start: RangeKey | undefined, page; (page = await db.getRange({ tableName, start })).nextStartPrimaryKey !== null; start = page.nextStartPrimaryKey) {
    for (const { primaryKey: found } of page.rows) await db.deleteRow({ tableName, primaryKey: found });
  }
  const { splits } = await db.computeSplitPointsBySize({ tableName, splitSize: 1 });
  for (const { lower, upper } of splits) await tx.getRange({ tableName, start: lower, end: upper });
  const prices: Prices = { onDemand: { read: 1 } };
  const { periods, total } = await db.computeConsumed({ prices });
  if (periods.length > 0 && total.cost > periods[0].cost) return;
  await using block = await db.startLocalTransaction({ tableName, partitionKey: { room: "lobby" } });
  await block.commit();
  // A spread of a row holds its key and its columns, and no methods.
  const { row: read } = await db.getRow({ tableName, primaryKey: known });
  if (read !== null) {
    const copy = { ...read, selected: true };
    copy.columns.note?.[0]?.value.toString();
    copy.primaryKey.id?.toString();
    // @ts-expect-error -- a spread leaves methods behind
    copy.get("note");
    // @ts-expect-error -- and computed members
    copy.columnNames.length;
    // @ts-expect-error -- so it is no row
    const again: Row = copy;
    void again;
  }
  // Optional members may be undefined: `exactOptionalPropertyTypes` is on.
  db.addEventListener("health", () => {}, { once: undefined, signal });
  await inspectImport(new Blob(), { format: undefined, rows: undefined, signal });
  const enabled = signal === undefined;
  await db.updateTable({ tableName, stream: { enabled, expirationHours: 24 } });
  await db.updateTable({ tableName, stream: { enabled: false } });
}

async function refused(db: Database, tx: Transaction): Promise<void> {
  // @ts-expect-error a read needs to know its key
  await db.getRow({ tableName, primaryKey });
  // @ts-expect-error so does a deletion
  await db.deleteRow({ tableName, primaryKey });
  // @ts-expect-error and one in a batch
  await db.batchWriteRow([{ tableName, delete: { primaryKey } }]);
  // @ts-expect-error the ends of ranges stand in ranges only
  await db.getRow({ tableName, primaryKey: { room: "lobby", id: INF_MIN } });
  // @ts-expect-error no attribute is given by the store
  await db.putRow({ tableName, primaryKey, attributes: { a: AUTO_INCREMENT } });
  // @ts-expect-error a comparison that there is not
  await db.getRow({ tableName, primaryKey: known, filter: { column: "a", comparator: "LIKE", value: "x" } });
  // @ts-expect-error a value that is none
  col("a").eq(null);
  // @ts-expect-error a column alone is no filter
  await db.getRow({ tableName, primaryKey: known, filter: col("a") });
  // @ts-expect-error a stream needs to know how long it keeps records
  await db.updateTable({ tableName, stream: { enabled: true } });
  // @ts-expect-error filters do not change
  col("a").eq(1).value = 2;
  // @ts-expect-error nor do transactions, from outside
  tx.state = "COMMITTED";
}

test("W3: the types know keys that the store gives, filters, and what transactions take", () => {
  void allowed;
  void refused;
});
