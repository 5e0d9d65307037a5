/** The text of the program, which a reload keeps, and the way to it from elsewhere in the console. */

import { signal } from "@preact/signals";

import { typedBefore } from "../lib/typed-before.ts";
import { showCodeView } from "../state/route.ts";
import { storedText, storeText } from "../state/stored-text.ts";
import { EXAMPLES } from "./examples.ts";

const PLACE = "tabstore-console-code";
/** Longer programs are not kept: a page has little room for such. */
const MOST_LENGTH = 100_000;

/** The program. */
export const program = signal(storedText(PLACE) ?? EXAMPLES.put);
/** Rises whenever another program is put in the place of the one in the editor. What a person types there does not count. */
export const replacements = signal(0);
/** The program that another one has taken the place of; none if nothing of a person is lost. */
export const before = signal<string | undefined>(undefined);

/** Takes what a person types. */
export function setProgram(text: string): void {
  program.value = text;
  if (text.length <= MOST_LENGTH) storeText(PLACE, text);
}

/** What the console itself put there last. */
let placed: string | undefined;

/** Puts another program in its place. What was typed can be brought back, however many others are looked at meanwhile. */
export function replaceProgram(text: string): void {
  const old = program.value;
  if (old === text) return;
  const isTyped = old !== placed && !Object.values<string>(EXAMPLES).includes(old);
  before.value = typedBefore({ old, isTyped, before: before.value, text });
  placed = text;
  setProgram(text);
  replacements.value += 1;
}

/** Shows a program in the console's editor. */
export function showCode(text: string): void {
  replaceProgram(text);
  showCodeView();
}
