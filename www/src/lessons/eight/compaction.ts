/** Lesson 5: compaction and filters. Three segments overlap, because background work is held. */

import type { BatchWriteItem, Database } from "tabstore";

import type { Lesson } from "../lesson.ts";
import { countRows, treeOf } from "../read.ts";

const TABLE = "reading";
const SEGMENTS = 3;
const ROWS = 200;
/** So many rows are written once more by each later segment. */
const AGAIN = 30;
const DAY = 86_400;

const key = (n: number): string => `k${String(n).padStart(6, "0")}`;
/** A key between others that no segment has. */
const missing = (seed: number): string => `${key(100 + (seed % 300))}-5`;

async function prepare(db: Database): Promise<void> {
  await db.createTable({ tableName: TABLE, primaryKey: [{ name: "id", type: "STRING" }] });
  await db.pauseWork();
  for (let segment = 0; segment < SEGMENTS; segment++) {
    const items = Array.from({ length: ROWS }, (_, at): BatchWriteItem => {
      const n = at * SEGMENTS + segment;
      return { tableName: TABLE, put: { primaryKey: { id: key(n) }, attributes: { n: BigInt(n) } } };
    });
    await db.batchWriteRow(items);
    if (segment > 0) {
      const again = Array.from({ length: AGAIN }, (_, n): BatchWriteItem => {
        return { tableName: TABLE, put: { primaryKey: { id: key(n) }, attributes: { n: BigInt(n + segment * 1000) } } };
      });
      await db.batchWriteRow(again);
    }
    await db.flush();
  }
}

/** The lesson. */
export const LESSON: Lesson = {
  number: 5,
  pictured: TABLE,
  options: { clock: { now: 1_700_000_000_000 } },
  document: "inside.md",
  prepare,
  lines: (seed) => [`use -t ${TABLE}`, `trace ${key(100 + (seed % 300))}`, `trace ${missing(seed)}`],
  outcome: async (db, seed) => {
    const { trace } = await db.getRow({ tableName: TABLE, primaryKey: { id: missing(seed) }, trace: true });
    const read = trace?.steps.filter((step) => step.source === "segment" && step.blocks.length > 0).length ?? 0;
    return read === 0 ? 2 : read < SEGMENTS ? 1 : 0;
  },
  task: {
    lines: () => [`use -t ${TABLE}`, "…"],
    check: async (db) => {
      if ((await countRows(db, TABLE)) !== SEGMENTS * ROWS) return "wrongCount";
      const { tree, inMemory } = await treeOf(db, TABLE);
      return tree?.segments.length === 1 && inMemory === 0 ? undefined : "notOne";
    },
  },
  harder: {
    lines: () => [`alter -t ${TABLE} --ttl ${DAY}`, "clock +seconds"],
    check: async (db) => {
      const rows = await countRows(db, TABLE);
      if (rows === undefined) return "dropped";
      if (rows > 0) return "rowsLeft";
      const { tree } = await treeOf(db, TABLE);
      return (tree?.segments.length ?? 0) === 0 ? undefined : "segmentsLeft";
    },
  },
};
