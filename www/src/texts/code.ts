/** What a catalogue of the code view has. */

import type { ExampleName } from "../code/examples.ts";
import type { Catalogues } from "./use-texts.ts";

/** The words of the view. */
export interface CodeTexts {
  readonly title: string;
  readonly lead: string;
  readonly editor: string;
  readonly example: string;
  readonly choose: string;
  readonly examples: Readonly<Record<ExampleName, string>>;
  readonly run: string;
  readonly runTitle: string;
  readonly stop: string;
  /** Why a program that is done can be stopped. */
  readonly stopTitle: string;
  readonly clear: string;
  readonly bringBack: string;
  readonly output: string;
  readonly nothing: string;
  readonly line: (line: number) => string;
  readonly leftOut: (lines: number) => string;
  readonly inMemory: string;
  readonly starting: string;
  readonly running: string;
  readonly done: (ms: string) => string;
  readonly failed: string;
  readonly stopped: string;
  readonly hung: (seconds: number) => string;
}

/** The catalogues. */
export const CODE_TEXTS: Catalogues<CodeTexts> = {
  en: async () => (await import("./en/code.ts")).TEXTS,
  zh: async () => (await import("./zh/code.ts")).TEXTS,
};
