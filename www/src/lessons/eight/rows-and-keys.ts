/** Lesson 1: rows and keys. The two rows of the product introduction [D4]; keys are sorted by their columns, texts by their bytes. */

import type { Lesson } from "../lesson.ts";
import { countRows } from "../read.ts";

const station = (seed: number): string => `S${seed}`;

/** The days of a station's rows, in the order of the table. */
async function daysInOrder(db: Parameters<Lesson["task"]["check"]>[0], tableName: string, name: string): Promise<readonly number[]> {
  const days: number[] = [];
  for await (const { primaryKey, columns } of db.scan({ tableName })) {
    if (primaryKey["station"] === name) days.push(Number(columns["day"]?.[0]?.value ?? primaryKey["day"]));
  }
  return days;
}

/** The lesson. */
export const LESSON: Lesson = {
  number: 1,
  options: {},
  document: "rows.md",
  prepare: async (db) => db.createTable({ tableName: "media", primaryKey: [{ name: "ID", type: "STRING" }], maxVersions: 2 }),
  lines: () => [
    "use -t media",
    `put -k '["4776"]' -a '[{"c":"Type","v":"Book"},{"c":"PageCount","v":666}]'`,
    `put -k '["6555"]' -a '[{"c":"Type","v":"Music"},{"c":"Length","v":500}]'`,
    `put -k '["60"]' -a '[{"c":"Type","v":"Map"}]'`,
    "scan",
  ],
  outcome: async (db) => {
    const { rows } = await db.getRange({ tableName: "media" });
    return Math.max(
      0,
      rows.findIndex(({ primaryKey }) => primaryKey["ID"] === "60"),
    );
  },
  task: {
    lines: (seed) => [
      `create -t visit -k '[{"c":"…","t":"…"},{"c":"…","t":"…"}]'`,
      "use -t visit",
      `put -k '["${station(seed)}", 9]' -a '[{"c":"ok","v":true}]'`,
    ],
    check: async (db, seed) => {
      if ((await countRows(db, "visit")) === undefined) return "noTable";
      const { primaryKey } = await db.describeTable("visit");
      const [first, second] = primaryKey;
      if (primaryKey.length !== 2 || first?.name !== "station" || second?.name !== "day") return "wrongColumns";
      if (second.type !== "INTEGER") return "wrongType";
      const days = await daysInOrder(db, "visit", station(seed));
      return String(days) === "9,10,11" ? undefined : "wrongRows";
    },
  },
  harder: {
    lines: (seed) => [
      `create -t latest -k '[{"c":"station","t":"string"},{"c":"…","t":"integer"}]'`,
      "use -t latest",
      `put -k '["${station(seed)}", …]' -a '[{"c":"day","v":9}]'`,
    ],
    check: async (db, seed) => {
      if ((await countRows(db, "latest")) === undefined) return "noLatest";
      const days = await daysInOrder(db, "latest", station(seed));
      return String(days) === "11,10,9" ? undefined : "notNewestFirst";
    },
  },
};
