/** Lesson 2: versions. The column with two values of the product introduction [D4]. */

import type { Lesson } from "../lesson.ts";
import { versionsOf } from "../read.ts";

const JUNE_23 = 1_466_676_354_000;
const DAY_MS = 86_400_000;
const KEY = { ID: "6555" };
const put = (days: number, value: number): string => `{"c":"Length","v":${value},"ts":${JUNE_23 + days * DAY_MS}}`;

const lengths = async (db: Parameters<Lesson["outcome"]>[0]): Promise<readonly number[]> =>
  (await versionsOf(db, "media", KEY, "Length", 10)).map(({ value }) => Number(value));

/** The lesson. */
export const LESSON: Lesson = {
  number: 2,
  options: { clock: { now: JUNE_23 + 10 * DAY_MS } },
  document: "rows.md",
  prepare: async (db) =>
    db.createTable({ tableName: "media", primaryKey: [{ name: "ID", type: "STRING" }], maxVersions: 2, timeToLive: -1, maxVersionOffset: 1_000_000_000 }),
  lines: () => [
    "use -t media",
    `put -k '["6555"]' -a '[${put(0, 400)},${put(1, 500)}]'`,
    "get -k '[\"6555\"]' --max_version 10",
    `update -k '["6555"]' -a '[${put(2, 600)}]'`,
    "get -k '[\"6555\"]' --max_version 10",
  ],
  outcome: async (db) => Math.max(0, (await lengths(db)).length - 1),
  task: {
    lines: () => ["alter -t media --version …", "get -t media -k '[\"6555\"]' --max_version 10"],
    check: async (db) => {
      const seen = await lengths(db);
      if (seen.length === 0) return "noRow";
      return String(seen) === "600,500,400" ? undefined : "notThree";
    },
  },
  harder: {
    lines: () => [`update -t media -k '["6555"]' --delete_versions '[{"c":"Length","ts":…}]'`, "get -t media -k '[\"6555\"]' --max_version 10"],
    check: async (db) => {
      const seen = await lengths(db);
      if (seen.includes(500)) return "stillThere";
      return String(seen) === "600,400" ? undefined : "othersGone";
    },
  },
};
