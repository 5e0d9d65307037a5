/** Changes of stored rows that are done once, over all tabs and reloads. */

import type { Context } from "./context.js";

/** The table that notes which are done. Its name is one that no schema has by chance. */
const TABLE = "__tabstore_migrations";

/** Work on one instance in this page, one after another: where there are no locks over tabs, no other page can open it. */
const turns = new Map<string, Promise<unknown>>();

/** Does `work` while no other tab does. */
async function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
  const locks = (globalThis.navigator as { readonly locks?: LockManager } | undefined)?.locks;
  if (locks !== undefined) return locks.request(`tabstore/migrations/${name.toLowerCase()}`, work) as Promise<T>;
  const before = turns.get(name) ?? Promise.resolve();
  const mine = before.then(work, work);
  turns.set(
    name,
    mine.catch(() => {}),
  );
  return mine;
}

/** Does those that are not done yet, in their order. */
export async function migrate(context: Context, tables: object, migrations: Readonly<Record<string, (db: object) => Promise<unknown>>>): Promise<void> {
  const { db } = context;
  await alone(db.name, async () => {
    await db.createTable({ tableName: TABLE, primaryKey: [{ name: "name", type: "STRING" }], ifNotExists: true });
    for (const [name, migration] of Object.entries(migrations)) {
      if (typeof migration !== "function") throw context.error("OTSParameterInvalid", `The migration '${name}' is no function.`);
      const primaryKey = { name };
      if ((await db.getRow({ tableName: TABLE, primaryKey })).row !== null) continue;
      await migration(tables);
      await db.putRow({ tableName: TABLE, primaryKey, attributes: { done: Date.now() } });
    }
  });
}
