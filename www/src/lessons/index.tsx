/** The lessons with their styles: loaded when one is opened. */

import "../styles/inside.css";
import "../styles/shell.css";
import "../styles/lesson.css";

export { LessonView } from "./view.tsx";
