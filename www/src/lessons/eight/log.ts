/** Lesson 4: memtable, log, flush, kill. Its instance is kept by the browser, because it has to outlive the page. */

import type { Lesson } from "../lesson.ts";
import { countRows, treeOf } from "../read.ts";

const TABLE = "letter";
const FIRST = 300;
const ALL = 500;

/** The lesson. */
export const LESSON: Lesson = {
  number: 4,
  pictured: TABLE,
  options: { storage: "indexeddb" },
  document: "inside.md",
  prepare: async (db) => db.createTable({ tableName: TABLE, primaryKey: [{ name: "id", type: "STRING" }] }),
  lines: () => [`use -t ${TABLE}`, `fill ${FIRST}`, "kill", `use -t ${TABLE}`, "count"],
  outcome: async (db) => {
    const rows = await countRows(db, TABLE);
    return rows === FIRST ? 2 : rows === 0 ? 0 : 1;
  },
  task: {
    lines: () => [`use -t ${TABLE}`, "fill …", "…"],
    check: async (db) => {
      if ((await countRows(db, TABLE)) !== ALL) return "wrongCount";
      return (await treeOf(db, TABLE)).inMemory === 0 ? undefined : "inMemory";
    },
  },
  harder: {
    lines: () => [`delete -t ${TABLE} -k '["k000007"]'`],
    check: async (db) => {
      if ((await countRows(db, TABLE)) !== ALL - 1) return "wrongRest";
      const { row } = await db.getStoredRow({ tableName: TABLE, primaryKey: { id: "k000007" } });
      if (row !== null) return "stillStored";
      const { tree, inMemory } = await treeOf(db, TABLE);
      return inMemory > 0 || tree?.segments.some(({ deletes }) => deletes > 0) ? "marker" : undefined;
    },
  },
};
