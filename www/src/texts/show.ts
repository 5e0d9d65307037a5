/** What a catalogue of the show has. */

import type { ReadStep } from "tabstore";

import type { Balance } from "../show/rows.ts";
import type { StepName, WorkDone } from "../show/steps.ts";
import type { Catalogues } from "./use-texts.ts";

/** What the sentences tell: all of it is measured. */
export interface ShowFacts {
  readonly acknowledged: number;
  /** Entries of the memtable, its bytes, and those that it may have. */
  readonly entries: number;
  readonly filled: number;
  readonly budget: number;
  readonly done: WorkDone;
  readonly balance: Balance | undefined;
  readonly isMemory: boolean;
}

/** A step: its title, and its sentence; none while what it tells of has not happened. */
interface StepTexts {
  readonly title: string;
  readonly text: (facts: ShowFacts) => string | undefined;
}

/** The texts of the show. */
export interface ShowTexts {
  readonly title: string;
  readonly opening: string;
  readonly step: (number: number, of: number) => string;
  readonly back: string;
  readonly next: string;
  readonly hold: string;
  readonly go: string;
  readonly speed: string;
  readonly again: string;
  readonly leave: string;
  readonly keys: string;
  readonly waiting: (filled: number, budget: number) => string;
  readonly steps: Readonly<Record<StepName, StepTexts>>;
  /** What is said in place of {@link waiting} where no row will bring it. */
  readonly waitingFor: { readonly found: string };
  readonly kill: string;
  readonly killing: string;
  readonly balance: Readonly<Record<"acknowledged" | "expected" | "found" | "lost" | "opened", string>>;
  readonly facts: Readonly<
    Record<"caption" | "rows" | "perSecond" | "log" | "memtable" | "flushes" | "merges" | "dropped" | "segments" | "partitions" | "none", string>
  >;
  readonly table: string;
  readonly ask: {
    readonly key: string;
    readonly submit: string;
    readonly present: string;
    readonly absent: string;
    readonly found: (row: string, units: number, ms: number) => string;
    readonly missing: (units: number, ms: number) => string;
    readonly path: string;
    /** What the colours of the picture say of the read. */
    readonly colours: string;
    readonly step: (step: ReadStep) => string;
  };
  readonly doors: Readonly<Record<"title" | "lesson" | "lessonAbout" | "file" | "fileAbout" | "code" | "copy" | "copied", string>>;
}

/** The catalogues. */
export const SHOW_TEXTS: Catalogues<ShowTexts> = {
  en: async () => (await import("./en/show.ts")).TEXTS,
  zh: async () => (await import("./zh/show.ts")).TEXTS,
};
