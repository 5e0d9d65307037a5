/**
 * Counts and sums by group, kept while the table changes. A change costs a subtraction and an addition, whatever the size of the
 * table: its record in the stream has the row's old values (`originColumns`) beside the new ones.
 */

import type { Change, Database, PrimaryKey, Value } from "tabstore";

import { batches, endOf, hasExpired, OLDEST, textOf } from "../follow.ts";

/** What is counted. The stream of the table must have both columns in `originColumns`. */
export interface Question {
  readonly tableName: string;
  /** The column whose value is the group. A row without it is not counted. */
  readonly group: string;
  /** The column that is summed: integers, because sums of fractions are not exact. */
  readonly sum: string;
}

/** Where the result is kept: a row of any table. */
export interface Kept {
  readonly tableName: string;
  readonly primaryKey: PrimaryKey;
}

/** The result of a group. */
export interface Total {
  readonly count: number;
  readonly sum: number;
}

/** The groups, by name. */
export type Totals = Map<string, Total>;

/** Totals, and the token of the last change in them. */
interface Counted {
  readonly totals: Totals;
  readonly token: string;
}

type Values = Readonly<Record<string, Value | undefined>>;

/** A row's values before a change. */
const before = ({ original }: Change): Values => original;

/** Its values after it. */
function after({ type, cells, original }: Change): Values {
  if (type === "DELETE") return {};
  const changed = cells.map((cell) => [cell.name, cell.op === "PUT" ? cell.value : undefined] as const);
  return { ...(type === "UPDATE" ? original : {}), ...Object.fromEntries(changed) };
}

/** Adds a row to its group, or takes it away. */
function add(totals: Totals, { group, sum }: Question, row: Values, times: 1 | -1): void {
  const name = row[group];
  if (name === undefined) return;
  const { count, sum: old } = totals.get(String(name)) ?? { count: 0, sum: 0 };
  const total = { count: count + times, sum: old + times * Number(row[sum] ?? 0) };
  if (total.count === 0) totals.delete(String(name));
  else totals.set(String(name), total);
}

/** Counts all rows: the totals, and the place in the stream that they belong to. */
export async function countAll(db: Database, question: Question, signal?: AbortSignal): Promise<Counted> {
  const { tableName, group, sum } = question;
  let token = await endOf(db, tableName, signal);
  const rows = new Map<string, Values>();
  for await (const row of db.scan({ tableName, columnsToGet: [group, sum], signal })) {
    rows.set(textOf(row.primaryKey), { [group]: row.get(group), [sum]: row.get(sum) });
  }
  // The scan has seen some of the changes since, and others not. So these rows are set, not added.
  for await (const change of db.changes({ tableName, from: token, once: true, signal })) {
    rows.set(textOf(change.primaryKey), after(change));
    token = change.token;
  }
  const totals: Totals = new Map();
  for (const row of rows.values()) add(totals, question, row, 1);
  return { totals, token };
}

/**
 * Gives the totals, and again whenever they change, until `signal` or a `break` ends it. Call it again to go on, also after a
 * reload: the totals are stored with their token, in one write. So each change is counted once.
 */
export async function* aggregate(db: Database, question: Question, kept: Kept, signal?: AbortSignal): AsyncGenerator<Totals, void> {
  const { tableName } = question;
  for (let from = await load(db, kept); ; from = undefined) {
    try {
      const { totals, token } = from ?? (await countAll(db, question, signal));
      if (from === undefined) await store(db, kept, { totals, token });
      yield new Map(totals);
      for await (const changes of batches(db.changes({ tableName, from: token, signal }), 1000)) {
        for (const change of changes) {
          add(totals, question, before(change), -1);
          add(totals, question, after(change), 1);
        }
        await store(db, kept, { totals, token: changes.at(-1)?.token ?? token });
        yield new Map(totals);
      }
    } catch (error) {
      if (!hasExpired(error)) throw error;
    }
  }
}

async function store(db: Database, kept: Kept, { totals, token }: Counted): Promise<void> {
  await db.putRow({ ...kept, attributes: { token, totals: JSON.stringify([...totals]) } });
}

/** What was stored, if one can go on behind it. */
async function load(db: Database, kept: Kept): Promise<Counted | undefined> {
  const { row } = await db.getRow(kept);
  const [token, totals] = [row?.get("token"), row?.get("totals")];
  if (typeof token !== "string" || typeof totals !== "string" || token === OLDEST) return undefined;
  return { token, totals: new Map(JSON.parse(totals) as [string, Total][]) };
}
