/** A lesson that is open: its instance, and what was predicted, run and found. */

import { batch, signal } from "@preact/signals";
import { type Database, deleteInstance, open, type ReadTrace, type StoreDescription } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import type { Entry } from "../shell/state.ts";
import { keepLeft, takeLeft } from "./kill.ts";
import type { Lesson, Task } from "./lesson.ts";
import { placeOf, runWords } from "./words.ts";

/** What came of a check: nothing yet, reached, or the name of the message that says what is missing. */
export type Verdict = { readonly missing: string | undefined } | undefined;

/** An open lesson. */
export class Classroom {
  readonly predicted = signal<number | undefined>(undefined);
  readonly entries = signal<readonly Entry[]>([]);
  /** The path of the last read that was traced, as long as nothing ran after it. */
  readonly trace = signal<ReadTrace | undefined>(undefined);
  /** Whether a later step has worked on the store: the lines of the second one prove nothing then. */
  readonly isUsed = signal(false);
  /** The answer that the store has proved. */
  readonly outcome = signal<number | undefined>(undefined);
  readonly verdicts = signal<Readonly<Record<"task" | "harder", Verdict>>>({ task: undefined, harder: undefined });
  readonly reading = signal<{ readonly store: StoreDescription; readonly budget: number } | undefined>(undefined);
  /** How long the opening behind a kill took, in ms. */
  readonly reopenedMs = signal<number | undefined>(undefined);
  readonly lesson: Lesson;
  readonly seed: number;
  readonly #db: Database;
  #place;
  #lastId = 0;

  constructor(lesson: Lesson, seed: number, db: Database) {
    this.lesson = lesson;
    this.seed = seed;
    this.#db = db;
    this.#place = placeOf(db);
  }

  /** Runs lines one after another; what is refused is an answer too. */
  async #run(lines: readonly string[]): Promise<void> {
    const kill = this.lesson.options.storage === "indexeddb" ? this.#kill : undefined;
    for (const [at, line] of lines.entries()) {
      // What a person has not filled in yet.
      if (["", "…"].includes(line.trim())) continue;
      this.trace.value = undefined;
      const onTrace = (trace: ReadTrace | undefined) => {
        this.trace.value = trace;
      };
      this.#place = { ...this.#place, onTrace, kill: kill && (() => kill(lines.slice(at + 1))) };
      const add = (rest: Omit<Entry, "id" | "line">) => {
        this.entries.value = [...this.entries.value, { id: ++this.#lastId, line, ...rest }];
      };
      try {
        add({ answer: await runWords(this.#place, line) });
      } catch (error) {
        add({ error });
      }
    }
    await this.look();
  }

  /**
   * Runs the lines of the second step, and asks the store which answer is right. Where a line of the lesson is left out, or the store
   * is no longer as the lesson has begun, nothing is proved.
   */
  async prove(lines: readonly string[], isWhole = this.lesson.lines(this.seed).every((line) => lines.includes(line))): Promise<void> {
    await this.#run(lines);
    this.outcome.value = isWhole && !this.isUsed.value ? await this.lesson.outcome(this.#db, this.seed) : undefined;
  }

  /** Runs the lines of a task. */
  async attempt(lines: readonly string[]): Promise<void> {
    this.isUsed.value = true;
    await this.#run(lines);
  }

  /** Looks whether a task is reached. */
  async check(name: "task" | "harder"): Promise<void> {
    const task: Task = this.lesson[name];
    const missing = await task.check(this.#db, this.seed);
    this.verdicts.value = { ...this.verdicts.value, [name]: { missing } };
  }

  /** Forgets the answers of the step before. */
  clear(): void {
    this.entries.value = [];
  }

  /** Reads the store for the picture. */
  async look(): Promise<void> {
    if (this.lesson.pictured === undefined) return;
    const [store, { memtable }] = await Promise.all([this.#db.segments(), this.#db.metrics()]);
    this.reading.value = { store, budget: memtable.budget };
  }

  /** Takes up what a kill has left. */
  async resume(lines: readonly string[], predicted: number | undefined, openMs: number): Promise<void> {
    batch(() => {
      this.predicted.value = predicted;
      this.reopenedMs.value = openMs;
    });
    // The lines before the kill have run.
    await this.prove(lines, true);
  }

  readonly #kill = async (lines: readonly string[]): Promise<void> => {
    keepLeft({ lesson: this.lesson.number, lines, predicted: this.predicted.value });
    location.reload();
    // No line runs in the time that the page still has.
    await new Promise<never>(() => {});
  };

  close(): void {
    void this.#db.close().catch(() => {});
  }
}

/** Opens a lesson: anew, or as a kill has left it. */
export async function openClassroom(lesson: Lesson, seed: number): Promise<Classroom> {
  const name = `lesson-${lesson.number}`;
  const { storage = "memory" } = lesson.options;
  const left = storage === "memory" ? undefined : takeLeft(lesson.number);
  if (storage !== "memory" && left === undefined) {
    await deleteInstance(name).catch((error: unknown) => {
      if (asError(error).code !== "OTSObjectNotExist") throw error;
    });
  }
  const began = performance.now();
  const db = await open(name, { integers: "bigint", ...lesson.options, storage });
  const openMs = performance.now() - began;
  const room = new Classroom(lesson, seed, db);
  if (left === undefined) await lesson.prepare(db, seed);
  else await room.resume(left.lines, left.predicted, openMs);
  await room.look();
  return room;
}
