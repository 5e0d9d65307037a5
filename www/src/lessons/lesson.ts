/** What a lesson is: data that one runner shows. Its words are in the catalogues of texts. */

import type { Database, OpenOptions } from "tabstore";

/** Something to reach: true of the store or not, however it was reached. */
export interface Task {
  /** The lines that stand in the editor at first. */
  readonly lines: (seed: number) => readonly string[];
  /** Looks at the store. Gives nothing when it is reached, else the name of the message that says what is missing. */
  readonly check: (db: Database, seed: number) => Promise<string | undefined>;
}

/** A lesson. */
export interface Lesson {
  /** From 1. */
  readonly number: number;
  /** The table that the picture shows; none: no picture. */
  readonly pictured?: string;
  /** How its instance is opened: in memory, unless it says otherwise. */
  readonly options: OpenOptions;
  /** The page of the documents that has the rule, beside the package. */
  readonly document: string;
  /** Makes the tables and rows that are there at first. */
  readonly prepare: (db: Database, seed: number) => Promise<void>;
  /** The lines to run. */
  readonly lines: (seed: number) => readonly string[];
  /** Which of the answers, from 0, the store has proved. */
  readonly outcome: (db: Database, seed: number) => Promise<number>;
  readonly task: Task;
  readonly harder: Task;
}

type Loaded = () => Promise<{ readonly LESSON: Lesson }>;

const FIRST: Loaded = () => import("./eight/rows-and-keys.ts");
const OTHERS: readonly Loaded[] = [
  () => import("./eight/versions.ts"),
  () => import("./eight/time.ts"),
  () => import("./eight/log.ts"),
  () => import("./eight/compaction.ts"),
  () => import("./eight/partitions.ts"),
  () => import("./eight/units.ts"),
  () => import("./eight/conditions.ts"),
];

/** How many lessons there are. */
export const LESSONS = 1 + OTHERS.length;

/** A lesson by its number; a number that there is not gives the first one. */
export async function loadLesson(number: number): Promise<Lesson> {
  return (await (OTHERS[number - 2] ?? FIRST)()).LESSON;
}
