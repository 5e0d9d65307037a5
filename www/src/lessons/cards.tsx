/** The lessons, to choose one: their names come when they are shown. */

import { formatRoute } from "../lib/route.ts";
import { language } from "../state/language.ts";
import { TAGS } from "../texts/language.ts";
import { FRAME_TEXTS } from "../texts/lessons.ts";
import { useTexts } from "../texts/use-texts.ts";
import { ErrorNote } from "../ui/notice.tsx";

/** The cards. */
export function LessonCards() {
  const { texts, error } = useTexts(FRAME_TEXTS);
  return (
    <>
      <ErrorNote error={error} />
      <ol class="choices" lang={TAGS[language.value]}>
        {texts?.cards.map(({ title, about }, at) => (
          <li key={at}>
            <a class="choice" href={formatRoute({ lesson: at + 1, step: 1 })}>
              <b>
                {at + 1}. {title}
              </b>
              <span>{about}</span>
            </a>
          </li>
        ))}
      </ol>
    </>
  );
}
