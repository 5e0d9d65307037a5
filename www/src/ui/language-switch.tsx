/** The switch between the languages of lessons and of the show. */

import { language, setLanguage } from "../state/language.ts";

/** The switch: it names the other language in that language. */
export function LanguageSwitch() {
  const isChinese = language.value === "zh";
  return (
    <button type="button" class="button quiet small" lang={isChinese ? "en" : "zh-CN"} onClick={() => setLanguage(isChinese ? "en" : "zh")}>
      {isChinese ? "English" : "中文"}
    </button>
  );
}
