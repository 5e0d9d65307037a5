/** Writes to the table that is summed: the orders of a shop, by city. */

import type { CreateTableRequest, Database, Row } from "tabstore";

import { oneOf } from "../streams.tsx";

/** The tables: the orders, and the row with their totals. */
export const TABLES: readonly [CreateTableRequest, CreateTableRequest] = [
  { tableName: "orders", primaryKey: [{ name: "id", type: "STRING" }], stream: { enabled: true, expirationHours: 24, originColumns: ["city", "cents"] } },
  { tableName: "totals", primaryKey: [{ name: "name", type: "STRING" }] },
];

const { tableName } = TABLES[0];
const CITIES = ["Aarhus", "Bergen", "Cork", "Dresden", "Évora", "Fukuoka", "Ghent", "Hangzhou"] as const;

const newId = (): string => crypto.randomUUID();

/** Puts new orders. */
export async function order(db: Database, count = 1): Promise<void> {
  const put = () => ({
    tableName,
    put: { primaryKey: { id: newId() }, attributes: { city: oneOf(CITIES), cents: 200 + Math.floor(Math.random() ** 2 * 9800) } },
  });
  if (count === 1) await db.putRow({ tableName, ...put().put });
  else await db.batchWriteRow(Array.from({ length: count }, put), { atomic: false });
}

/** An order, any of them: the first behind a random key. */
async function pick(db: Database): Promise<Row | undefined> {
  const [row] = (await db.getRange({ tableName, start: { id: newId() }, limit: 1 })).rows;
  return row ?? (await db.getRange({ tableName, limit: 1 })).rows[0];
}

/** Sends an order to another city. */
export async function move(db: Database): Promise<void> {
  const row = await pick(db);
  if (row === undefined) return;
  const [first, ...others] = CITIES.filter((city) => city !== row.get("city"));
  if (first !== undefined) await db.updateRow({ tableName, primaryKey: row.primaryKey, put: { city: oneOf([first, ...others]) } });
}

/** Deletes an order. */
export async function cancel(db: Database): Promise<void> {
  const row = await pick(db);
  if (row !== undefined) await db.deleteRow({ tableName, primaryKey: row.primaryKey });
}
