/** Writes to the table that is copied: the stock of a small shop. */

import type { CreateTableRequest, Database, Row } from "tabstore";

import { oneOf } from "../streams.tsx";

/** The table. */
export const STOCK: CreateTableRequest = { tableName: "stock", primaryKey: [{ name: "item", type: "STRING" }], stream: { enabled: true, expirationHours: 24 } };

const { tableName } = STOCK;
const ITEMS = [
  "Apples",
  "Bread",
  "Candles",
  "Dates",
  "Eggs",
  "Flour",
  "Garlic",
  "Honey",
  "Ink",
  "Jam",
  "Kettles",
  "Lamps",
  "Mugs",
  "Nuts",
  "Oil",
  "Paper",
  "Quinces",
  "Rice",
  "Soap",
  "Tea",
  "Umbrellas",
  "Vinegar",
  "Wool",
  "Yeast",
] as const;
const PLACES = ["shelf 1", "shelf 2", "cellar", "window"] as const;

const below = (limit: number): number => Math.floor(Math.random() * limit);

/** Puts some items, in one step each. */
export async function deliver(db: Database, count = 5): Promise<void> {
  for (let left = count; left > 0; left--) {
    await db.putRow({ tableName, primaryKey: { item: oneOf(ITEMS) }, attributes: { amount: 5 + below(90), place: oneOf(PLACES) } });
  }
}

/** Sells one of an item, and moves it now and then. */
export const sell = (db: Database, rows: readonly Row[]): Promise<unknown> | undefined => {
  const row = rows[below(rows.length)];
  return row && db.updateRow({ tableName, primaryKey: row.primaryKey, increment: { amount: -1 }, put: below(3) === 0 ? { place: oneOf(PLACES) } : {} });
};

/** Deletes an item. */
export const remove = (db: Database, rows: readonly Row[]): Promise<unknown> | undefined => {
  const row = rows[below(rows.length)];
  return row && db.deleteRow({ tableName, primaryKey: row.primaryKey });
};
