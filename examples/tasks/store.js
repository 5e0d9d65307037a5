// One page, one database: it is opened here, and nothing has to be closed.
import { open } from "tabstore";
import { define, t } from "tabstore/schema";

const schema = define({
  task: { key: "id", columns: { id: t.integer, title: t.text, at: t.date }, indexes: { byAt: ["at"] } },
});

export const ready = open("tasks", { schema });

/** The newest tasks. */
export const newest = (db) => db.task.by.byAt.reverse().limit(5);

export async function add(title) {
  const db = await ready;
  const at = new Date();
  await db.task.insert({ id: at.getTime(), title, at });
}
