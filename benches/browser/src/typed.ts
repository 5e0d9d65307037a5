/** A typed table and the calls of the service on an equal table, in one instance: what the types cost. `lib/typed.mjs` controls it. */

import { double, open } from "tabstore";
import { define, t } from "tabstore/schema";
import { type BenchRow, look, lookAll, rows } from "./data.js";

type Side = "plain" | "typed";

const schema = define({
  typed: { key: "id", columns: { id: t.integer, name: t.text, city: t.text, note: t.text, score: t.double, count: t.integer } },
});
const opened = (name: string, storage: "memory" | "indexeddb") => open(name, { schema, storage, worker: false });

let db: Awaited<ReturnType<typeof opened>>;
let all: BenchRow[] = [];

/** Stores a row. */
const put = {
  plain: ({ id, name, city, note, score, count }: BenchRow): Promise<unknown> =>
    // Whole numbers among the scores are doubles too.
    db.service.putRow({
      tableName: "plain",
      primaryKey: { id },
      attributes: { name, city, note, score: Number.isInteger(score) ? double(score) : score, count },
    }),
  typed: (row: BenchRow): Promise<unknown> => db.typed.put(row),
};
const get = {
  plain: async (id: number) => (await db.service.getRow({ tableName: "plain", primaryKey: { id } })).row!.toObject() as unknown as BenchRow,
  typed: (id: number) => db.typed.get(id) as Promise<BenchRow>,
};
const scan = {
  async plain(): Promise<BenchRow[]> {
    const found: BenchRow[] = [];
    for await (const page of db.service.scanPages({ tableName: "plain" })) for (const row of page) found.push(row.toObject() as unknown as BenchRow);
    return found;
  },
  typed: () => db.typed.toArray() as Promise<BenchRow[]>,
};

/** A part of the rows, another one for each turn. */
function part(turn: number, size: number): BenchRow[] {
  const start = (turn * size) % Math.max(1, all.length - size);
  return all.slice(start, start + size);
}

function check(found: readonly BenchRow[], wanted: readonly BenchRow[]): void {
  if (found.length !== wanted.length || lookAll(found) !== lookAll(wanted)) throw new Error("other rows were read than were written");
}

const steps = {
  async put(side: Side, some: readonly BenchRow[]): Promise<void> {
    for (const row of some) await put[side](row);
  },
  async inFlight(side: Side, some: readonly BenchRow[]): Promise<void> {
    await Promise.all(some.map(put[side]));
  },
  async get(side: Side, some: readonly BenchRow[]): Promise<void> {
    for (const row of some) if (look(await get[side](row.id)) !== look(row)) throw new Error(`row ${row.id} is another one`);
  },
  async scan(side: Side): Promise<void> {
    const found = await scan[side]();
    check(found, all);
  },
};

/** The functions that `lib/typed.mjs` calls. */
export const typed = {
  async open(name: string, storage: "memory" | "indexeddb", count: number): Promise<void> {
    all = rows(1, count);
    db = await opened(name, storage);
    await db.service.createTable({ tableName: "plain", primaryKey: [{ name: "id", type: "INTEGER" }] });
    for (const side of ["plain", "typed"] as const) await steps.inFlight(side, all);
    await db.service.flush();
  },
  /** Microseconds of an operation: of so many rows in one turn, or of all rows for a scan. */
  async take(step: keyof typeof steps, side: Side, turn: number, size: number): Promise<number> {
    const some = step === "scan" ? all : part(turn, size);
    // Thousands of rows are garbage behind a scan: whose turn it is to collect them would decide.
    if (step === "scan") (globalThis as { gc?: (of: object) => void }).gc?.({ type: "minor" });
    const start = performance.now();
    await steps[step](side, some);
    return ((performance.now() - start) * 1000) / some.length;
  },
  /** Background work that a step left behind must not run in the next one. */
  settle: (): Promise<void> => db.service.flush(),
  close: (): Promise<void> => db.close(),
};
(globalThis as unknown as { typed: typeof typed }).typed = typed;
