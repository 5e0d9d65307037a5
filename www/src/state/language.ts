/** The language of lessons and of the show: the browser's, unless somebody chose. The rest of the console is in English. */

import { signal } from "@preact/signals";

import { type Language, languageOf } from "../texts/language.ts";

const PLACE = "tabstore-console-language";

function stored(): Language | undefined {
  try {
    const value = localStorage.getItem(PLACE);
    return value === "en" || value === "zh" ? value : undefined;
  } catch {
    // A page without storage has the browser's language.
    return undefined;
  }
}

/** The choice. */
export const language = signal<Language>(stored() ?? languageOf(navigator.languages));

/** Chooses. */
export function setLanguage(chosen: Language): void {
  language.value = chosen;
  try {
    localStorage.setItem(PLACE, chosen);
  } catch {
    // Then it lasts until the page goes.
  }
}
