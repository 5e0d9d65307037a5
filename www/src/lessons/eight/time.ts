/** Lesson 3: time to live, and the window of versions. The boundary cases of the documents [V6], [V7]. */

import type { Database } from "tabstore";

import type { Lesson } from "../lesson.ts";
import { versionsOf } from "../read.ts";

/** 2016-07-21 00:00:00 at UTC+8. */
const JULY_21 = 1_469_030_400_000;
const DAY = 86_400;
const TABLE = "lesson_day";
const OLDEST = JULY_21 - DAY * 1000;

const put = (id: number, version: number): string => `put -k '[${id}]' -a '[{"c":"note","v":"hello","ts":${version}}]'`;

/** The versions of row 1 that are stored. */
async function storedOfFirst(db: Database) {
  const { versions } = await db.getStoredRow({ tableName: TABLE, primaryKey: { id: 1 } });
  return versions["note"] ?? [];
}

/** The lesson. */
export const LESSON: Lesson = {
  number: 3,
  options: { clock: { now: JULY_21 } },
  document: "rows.md",
  prepare: async (db) =>
    db.createTable({ tableName: TABLE, primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 1, timeToLive: DAY, maxVersionOffset: DAY }),
  lines: () => [`use -t ${TABLE}`, put(1, OLDEST), put(2, OLDEST - 1), put(3, JULY_21 + DAY * 1000 - 1), put(4, JULY_21 + DAY * 1000), "scan"],
  outcome: async (db) => {
    const { rows } = await db.getRange({ tableName: TABLE });
    return Math.min(2, Math.max(0, 4 - rows.length));
  },
  task: {
    lines: () => ["clock +0", `scan -t ${TABLE}`],
    check: async (db) => {
      const stored = await storedOfFirst(db);
      if (stored.length === 0) return "notStored";
      if (!stored.every(({ hidden }) => hidden === "expired")) return "stillVisible";
      return (await versionsOf(db, TABLE, { id: 3 }, "note")).length === 1 ? undefined : "otherGone";
    },
  },
  harder: {
    lines: () => [`alter -t ${TABLE} --ttl …`, `scan -t ${TABLE}`],
    check: async (db) => {
      if ((await db.metrics()).now <= JULY_21) return "clockBack";
      const stored = await storedOfFirst(db);
      return stored.some(({ version, hidden }) => version === OLDEST && hidden === null) ? undefined : "notBack";
    },
  },
};
