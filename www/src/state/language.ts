/** The language of lessons and of the show: the browser's, unless somebody chose. The rest of the console is in English. */

import { signal } from "@preact/signals";

import { type Language, languageOf } from "../texts/language.ts";
import { storedText, storeText } from "./stored-text.ts";

const PLACE = "tabstore-console-language";

function stored(): Language | undefined {
  const value = storedText(PLACE);
  return value === "en" || value === "zh" ? value : undefined;
}

/** The choice. */
export const language = signal<Language>(stored() ?? languageOf(navigator.languages));

/** Chooses. */
export function setLanguage(chosen: Language): void {
  language.value = chosen;
  storeText(PLACE, chosen);
}
