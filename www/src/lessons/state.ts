/** Which lesson is open. */

import { signal } from "@preact/signals";

import type { Lesson } from "./lessons.ts";

/** The lesson, if one is open. */
export const chosenLesson = signal<Lesson | undefined>(undefined);
