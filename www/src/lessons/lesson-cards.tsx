/** The lessons, to choose one. */

import { LESSONS } from "./lessons.ts";
import { chosenLesson } from "./state.ts";

/** The cards. */
export function LessonCards() {
  return (
    <ul class="choices">
      {LESSONS.map((lesson) => (
        <li key={lesson.id}>
          <button
            type="button"
            class="choice"
            onClick={() => {
              chosenLesson.value = lesson;
            }}
          >
            <b>{lesson.title}</b>
            <span>{lesson.about}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
