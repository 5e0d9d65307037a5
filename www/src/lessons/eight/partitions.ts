/** Lesson 6: partitions and hot keys. */

import type { Database } from "tabstore";

import type { Lesson } from "../lesson.ts";
import { countRows, treeOf } from "../read.ts";

const ROWS = 3000;

const partitionsOf = async (db: Database, tableName: string): Promise<number> => (await treeOf(db, tableName)).tree?.partitions.length ?? 0;

/** Whether `fair` begins with the user, and has so many partitions. */
async function checkFair(db: Database, least: number): Promise<string | undefined> {
  const rows = await countRows(db, "fair");
  if (rows === undefined) return "noFair";
  const { primaryKey } = await db.describeTable("fair");
  if (primaryKey[0]?.name !== "user" || !primaryKey.some(({ name }) => name === "page")) return "wrongKey";
  if (rows < ROWS) return "fewRows";
  return (await partitionsOf(db, "fair")) >= least ? undefined : "fewPartitions";
}

const create = (tableName: string) => ({
  tableName,
  primaryKey: [
    { name: "page", type: "STRING" },
    { name: "at", type: "INTEGER" },
  ] as const,
});

/** The lesson. */
export const LESSON: Lesson = {
  number: 6,
  pictured: "many",
  options: { memtableBytes: 256 * 1024, partitions: { splitBytes: 12 * 1024, mergeBytes: 1024, splitOperations: 0 } },
  document: "many-rows.md",
  prepare: async (db) => {
    await db.createTable(create("one"));
    await db.createTable(create("many"));
  },
  lines: () => ["use -t one", `fill ${ROWS} 1`, "use -t many", `fill ${ROWS} 100`, "flush", "work", "partitions"],
  outcome: async (db) => {
    const [one, many] = [await partitionsOf(db, "one"), await partitionsOf(db, "many")];
    return one > 1 ? 0 : many > 1 ? 2 : 1;
  },
  task: {
    lines: () => [
      `create -t fair -k '[{"c":"page","t":"string"},{"c":"user","t":"string"},{"c":"at","t":"integer"}]'`,
      "use -t fair",
      `fill ${ROWS} 100`,
      "flush",
      "work",
      "partitions",
    ],
    check: async (db) => checkFair(db, 2),
  },
  harder: { lines: () => ["use -t fair", "fill …", "flush", "work", "partitions"], check: async (db) => checkFair(db, 5) },
};
