/** A database on the small engine, for tests of imports. */

import assert from "node:assert/strict";

import { Client } from "../../src/client/client.js";
import { OpenDatabase } from "../../src/open/database.js";
import type { DefinedColumn, KeyColumn } from "../../src/types/tables.js";
import { FakeEngine } from "./engine.js";

/** Opens one that has the table `t`. */
export function openFake(key: KeyColumn[] = [{ name: "id", type: "INTEGER" }], definedColumns: DefinedColumn[] = []): { db: OpenDatabase; engine: FakeEngine } {
  const client = new Client(1, false);
  const engine = new FakeEngine(client.receive);
  engine.admin = (op) => (op === "describeTable" ? { tableName: "t", primaryKey: key, definedColumns, indexes: [], partitions: [] } : undefined);
  client.attach(engine);
  const db = new OpenDatabase("demo", "memory", client);
  // The engine reads no ranges. An import asks whether the table has rows.
  db.getRange = () => Promise.resolve({ rows: engine.store.size === 0 ? [] : assert.fail("a table with rows") } as never);
  return { db, engine };
}

/** The calls that arrived, as plain values. */
export function stored(engine: FakeEngine): unknown[] {
  return [...engine.store.values()].map(({ key, cells }) => Object.fromEntries([...Object.entries(key), ...cells.map(([name, , value]) => [name, value])]));
}
