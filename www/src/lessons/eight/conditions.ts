/** Lesson 8: conditions, counters, transactions, the stream. */

import type { Database } from "tabstore";

import { amountOf } from "../amount.ts";
import type { Lesson } from "../lesson.ts";
import { countRows, numberOf } from "../read.ts";

const TABLE = "account";
const START = 100;

const balance = async (db: Database, owner: string, kind: string) => numberOf(db, TABLE, { owner, kind }, "balance");

async function prepare(db: Database): Promise<void> {
  await db.createTable({
    tableName: TABLE,
    primaryKey: [
      { name: "owner", type: "STRING" },
      { name: "kind", type: "STRING" },
    ],
    stream: { enabled: true, expirationHours: 24 },
  });
  for (const owner of ["ann", "bob"]) {
    await db.putRow({ tableName: TABLE, primaryKey: { owner, kind: "cash" }, attributes: { balance: BigInt(START) } });
    await db.putRow({ tableName: TABLE, primaryKey: { owner, kind: "savings" }, attributes: { balance: 0n } });
  }
}

/** Whether the stream tells of a deleted row. */
async function isDeletionTold(db: Database, owner: string, kind: string): Promise<boolean> {
  for await (const { type, primaryKey } of db.changes({ tableName: TABLE, once: true })) {
    if (type === "DELETE" && primaryKey["owner"] === owner && primaryKey["kind"] === kind) return true;
  }
  return false;
}

/** The lesson. */
export const LESSON: Lesson = {
  number: 8,
  options: {},
  document: "indexes-and-transactions.md",
  prepare,
  lines: () => [
    `use -t ${TABLE}`,
    `put -k '["ann","cash"]' -a '[{"c":"balance","v":5}]' --condition not_exist`,
    `update -k '["ann","savings"]' --increment '[{"c":"balance","v":1}]'`,
    `update -k '["ann","savings"]' --increment '[{"c":"balance","v":1}]'`,
    "scan",
    "changes",
  ],
  outcome: async (db) => {
    const cash = await balance(db, "ann", "cash");
    return cash === 5 ? 0 : cash === START ? 1 : 2;
  },
  task: {
    lines: () => [`use -t ${TABLE}`, "transfer bob …", "scan"],
    check: async (db, seed) => {
      const [cash, savings] = [await balance(db, "bob", "cash"), await balance(db, "bob", "savings")];
      if (cash === undefined || savings === undefined) return "noRow";
      if (cash + savings !== START) return "wrongSum";
      return savings === amountOf(seed) ? undefined : "wrongAmount";
    },
  },
  harder: {
    lines: () => [`delete -t ${TABLE} -k '["ann","savings"]' --if '{"column":"balance","comparator":"EQUAL","value":…}'`, "changes"],
    check: async (db) => {
      if ((await countRows(db, TABLE)) !== 3) return "wrongCount";
      if ((await balance(db, "ann", "savings")) !== undefined) return "stillThere";
      return (await isDeletionTold(db, "ann", "savings")) ? undefined : "notTold";
    },
  },
};
