/** What the catalogues of the lessons have. */

import type { Catalogues } from "./use-texts.ts";

/** The words of a lesson. */
export interface LessonTexts {
  /** What can be done after it, in a line. */
  readonly goal: string;
  readonly question: string;
  /** The answers to choose from. */
  readonly options: readonly string[];
  /** The rule: at most 60 words. */
  readonly explain: string;
  readonly task: (seed: number) => string;
  readonly harder: (seed: number) => string;
  /** What a check says when something is missing, by its name. */
  readonly messages: Readonly<Record<string, string>>;
}

/** What stands on the cards. */
interface CardTexts {
  readonly title: string;
  readonly about: string;
}

/** The words of the frame. */
export interface FrameTexts {
  readonly heading: string;
  readonly lesson: (number: number, of: number) => string;
  /** Of each lesson, in their order. */
  readonly cards: readonly CardTexts[];
  /** The steps, in their order. */
  readonly steps: readonly [string, string, string, string, string];
  readonly stepOf: (number: number, of: number) => string;
  readonly back: string;
  readonly next: string;
  readonly nextLesson: string;
  readonly previousLesson: string;
  readonly all: string;
  readonly reset: string;
  readonly teacher: string;
  readonly student: string;
  readonly showAnswer: string;
  readonly lines: string;
  readonly linesHint: (words: string) => string;
  readonly run: string;
  readonly runIt: string;
  readonly predictFirst: string;
  readonly answers: string;
  readonly right: string;
  /** Where nothing was predicted. */
  readonly proved: (truth: string) => string;
  readonly wrong: (truth: string) => string;
  readonly notRun: string;
  /** Where a later step has worked on the store. */
  readonly used: string;
  readonly document: string;
  readonly check: string;
  readonly reached: string;
  readonly opening: string;
  readonly killed: (ms: string) => string;
}

/** The catalogues of the frame. */
export const FRAME_TEXTS: Catalogues<FrameTexts> = {
  en: async () => (await import("./en/lessons.ts")).TEXTS,
  zh: async () => (await import("./zh/lessons.ts")).TEXTS,
};

type Loaded = () => Promise<{ readonly TEXTS: LessonTexts }>;

const EN: readonly Loaded[] = [
  () => import("./en/lesson-1.ts"),
  () => import("./en/lesson-2.ts"),
  () => import("./en/lesson-3.ts"),
  () => import("./en/lesson-4.ts"),
  () => import("./en/lesson-5.ts"),
  () => import("./en/lesson-6.ts"),
  () => import("./en/lesson-7.ts"),
  () => import("./en/lesson-8.ts"),
];
const ZH: readonly Loaded[] = [
  () => import("./zh/lesson-1.ts"),
  () => import("./zh/lesson-2.ts"),
  () => import("./zh/lesson-3.ts"),
  () => import("./zh/lesson-4.ts"),
  () => import("./zh/lesson-5.ts"),
  () => import("./zh/lesson-6.ts"),
  () => import("./zh/lesson-7.ts"),
  () => import("./zh/lesson-8.ts"),
];

async function textsOf(catalogue: readonly Loaded[], at: number): Promise<LessonTexts> {
  const load = catalogue[at];
  if (load === undefined) throw new Error(`There is no lesson ${at + 1}.`);
  return (await load()).TEXTS;
}

/** The catalogues of each lesson, in their order. */
export const LESSON_TEXTS: readonly Catalogues<LessonTexts>[] = EN.map((_, at) => ({ en: () => textsOf(EN, at), zh: () => textsOf(ZH, at) }));
