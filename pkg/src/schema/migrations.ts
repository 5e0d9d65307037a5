/** Changes of stored rows that are done once, over all tabs and reloads. Loaded on first use. */

import { turnOf } from "../tabs/turn.js";
import type { Context } from "./context.js";

/** The table that notes which are done. Its name is one that no schema has by chance. */
const TABLE = "__tabstore_migrations";

/** Does those that are not done yet, in their order. */
export async function migrate(context: Context, tables: object, migrations: Readonly<Record<string, (db: object) => Promise<unknown>>>): Promise<void> {
  const { db } = context;
  const release = await turnOf(db, "migrations");
  try {
    await db.createTable({ tableName: TABLE, primaryKey: [{ name: "name", type: "STRING" }], ifNotExists: true });
    for (const [name, migration] of Object.entries(migrations)) {
      if (typeof migration !== "function") throw context.error("OTSParameterInvalid", `The migration '${name}' is no function.`);
      const primaryKey = { name };
      if ((await db.getRow({ tableName: TABLE, primaryKey })).row !== null) continue;
      await migration(tables);
      await db.putRow({ tableName: TABLE, primaryKey, attributes: { done: Date.now() } });
    }
  } finally {
    release();
  }
}
