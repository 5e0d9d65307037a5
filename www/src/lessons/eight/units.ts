/** Lesson 7: capacity units, what is reserved, and the bill. The clock stands still, so all writes are of one second. */

import type { Lesson } from "../lesson.ts";
import { countRows } from "../read.ts";

const RESERVED = 10;

/** The lesson. */
export const LESSON: Lesson = {
  number: 7,
  options: { clock: { now: 1_700_000_000_000 } },
  document: "rows.md",
  prepare: async (db) => db.createTable({ tableName: "paid", primaryKey: [{ name: "id", type: "STRING" }] }),
  lines: () => ["use -t paid", "bytes 5000", "bill"],
  outcome: async (db) => {
    const { total } = await db.computeConsumed({ tableName: "paid" });
    return total.consumed.write <= 1 ? 0 : total.consumed.write === 2 ? 1 : 2;
  },
  task: {
    lines: () => [`create -t mine -k '[{"c":"id","t":"string"}]' --write_cu …`, "use -t mine", "fill 5", "bill"],
    check: async (db) => {
      if ((await countRows(db, "mine")) === undefined) return "noTable";
      const { reservedThroughput } = await db.describeTable("mine");
      if (reservedThroughput.write !== RESERVED) return "notReserved";
      const { total } = await db.computeConsumed({ tableName: "mine" });
      if (total.consumed.write < 5) return "fewWrites";
      return total.onDemand.write === 0 ? undefined : "tooMuch";
    },
  },
  harder: {
    lines: () => ["use -t mine", "fill …", "bill"],
    check: async (db) => {
      if ((await countRows(db, "mine")) === undefined) return "noTable";
      const { reservedThroughput } = await db.describeTable("mine");
      if (reservedThroughput.write !== RESERVED) return "notReserved";
      const { total } = await db.computeConsumed({ tableName: "mine" });
      return total.onDemand.write > 0 ? undefined : "notAbove";
    },
  },
};
