/**
 * Writes of any rows of any tables in one step: what `atomic` of a schema's database records, and then does. Loaded on first use: it
 * imports types alone, so it shares no code with its entry.
 */

import type { CallOptions } from "../types/data.js";
import type { BatchWriteItem, DeleteRowRequest, PutRowRequest, UpdateRowRequest, WriteResult } from "../types/rows.js";
import type { Context } from "./context.js";
import type { HistoryStore, Store } from "./history.js";
import type { StepOperations } from "./types.js";

/** A table whose rows a step writes. */
export interface StepTable {
  readonly name: string;
  /** Where its versions are in a companion. */
  readonly history: HistoryStore | undefined;
  /** Its operations on another store. */
  on(store: Store): { [name in keyof StepOperations<never>]: (...given: never[]) => Promise<unknown> };
}

/** Tries of a step whose companions other writers change. */
const TRIES = 8;
const NAMES = ["put", "insert", "update", "delete", "increment"] as const;

/** Records writes in the place of a store. None of them is answered: the step is done as a whole. */
class Recorder implements Store {
  readonly items: BatchWriteItem[] = [];

  constructor(private readonly context: Context) {}

  putRow({ signal: _, tableName, ...put }: PutRowRequest): Promise<WriteResult> {
    return this.record({ tableName, put });
  }

  updateRow({ signal: _, tableName, ...update }: UpdateRowRequest): Promise<WriteResult> {
    return this.record({ tableName, update });
  }

  deleteRow({ signal: _, tableName, ...row }: DeleteRowRequest): Promise<WriteResult> {
    return this.record({ tableName, delete: row });
  }

  getRow(): Promise<never> {
    return Promise.reject(this.context.error("OTSParameterInvalid", "A step only writes: read before it."));
  }

  private record(item: BatchWriteItem): Promise<WriteResult> {
    this.items.push(item);
    return new Promise(() => {});
  }
}

/** What was asked to be written, in call order. Throws what a wrong row throws. */
async function recorded(context: Context, tables: readonly StepTable[], work: (steps: object) => unknown): Promise<readonly BatchWriteItem[]> {
  const recorder = new Recorder(context);
  const wrong: Promise<unknown>[] = [];
  let isOver = false;
  const steps = tables.map((table) => {
    const operations = table.on(recorder);
    const own = NAMES.map((name) => [
      name,
      (...given: never[]): void => {
        if (isOver)
          throw context.error(
            "OTSParameterInvalid",
            "The step has been recorded: what is written now would not be stored.",
            "Write in the function that records it.",
          );
        const before = recorder.items.length;
        const done = operations[name](...given);
        // Nothing was recorded: it has failed.
        if (recorder.items.length === before) wrong.push(done);
        done.catch(() => {});
      },
    ]);
    return [table.name, Object.freeze(Object.fromEntries(own))];
  });
  let result: unknown;
  try {
    result = work(Object.freeze(Object.fromEntries(steps)));
  } finally {
    isOver = true;
  }
  await Promise.all(wrong);
  if (typeof (result as PromiseLike<unknown> | undefined)?.then === "function") {
    // What it writes later fails there too.
    Promise.resolve(result).catch(() => {});
    throw context.error(
      "OTSParameterInvalid",
      "The function that records a step gives a promise.",
      "Read what it needs before; in it only write, without await.",
    );
  }
  return recorder.items;
}

/** The row that failed: its place in the step. */
const failedAt = ({ message }: { readonly message: string }): number => Number(/^Row (\d+) of/.exec(message)?.[1] ?? 0);

/** The implementation of `atomic`. */
export async function atomic(context: Context, tables: readonly StepTable[], work: unknown, options: CallOptions | undefined): Promise<void> {
  if (typeof work !== "function") throw context.wrong("record", typeof work, "a function that takes the tables, and writes their rows");
  const items = await recorded(context, tables, work as (steps: object) => unknown);
  if (items.length === 0) return;
  const histories = new Map(tables.map(({ name, history }) => [name, history]));
  for (let tries = 1; ; tries++) {
    const all: { readonly item: BatchWriteItem; readonly of: BatchWriteItem }[] = [];
    for (const item of items) {
      const history = histories.get(item.tableName);
      const parts = history === undefined ? [item] : await history.withCompanion(item, options?.signal);
      all.push(...parts.map((part) => ({ item: part, of: item })));
    }
    try {
      await context.db.atomic(
        all.map(({ item }) => item),
        options,
      );
      return;
    } catch (error) {
      if (!context.isFailure(error, "OTSConditionCheckFail")) throw error;
      const failed = all[failedAt(error)];
      // Another writer has deleted a companion meanwhile.
      if (failed.item !== failed.of && tries < TRIES) continue;
      const { primaryKey, condition } = (failed.of.put ?? failed.of.update ?? failed.of.delete)!;
      const why =
        condition?.rowExistence === "EXPECT_NOT_EXIST" ? "there is such a row, and insert makes a new one." : "there is no such row, and update changes one.";
      throw context.unmet(error, failed.of.tableName, primaryKey, `${why} Nothing of the step is stored.`);
    }
  }
}
