/** The languages that lessons and the show are written in. */

/** A language. */
export type Language = "en" | "zh";

/** What a screen reader is told of it. */
export const TAGS: Readonly<Record<Language, string>> = { en: "en", zh: "zh-CN" };

/** The first language of a person that we have; English if there is none. */
export function languageOf(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const [first] = tag.toLowerCase().split("-");
    if (first === "en" || first === "zh") return first;
  }
  return "en";
}
