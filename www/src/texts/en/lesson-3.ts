/** The texts of lesson 3 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say to the millisecond which versions a table takes, and when a value expires.",
  question:
    "The clock stands at 2016-07-20 16:00 UTC. Time to live and offset are one day. Four values are put: a day ago, a millisecond older, a millisecond less than a day ahead, a day ahead. How many are accepted?",
  options: ["All four", "Three", "Two"],
  explain:
    "A version has to lie in the window: from the clock minus the offset (included) to the clock plus the offset (not included). A value expires when its version is older than the clock minus the time to live. Reads hide it at once; a compaction removes it. A longer time to live brings hidden values back.",
  task: () => "Let time alone hide row 1. It stays stored, and row 3 stays visible. The word clock +1 moves the clock by a second.",
  harder: () => "Bring row 1 back, with its old version. The clock may not go back.",
  messages: {
    notStored: "Row 1 is not stored any more. Reset, and run the lines of step 2.",
    stillVisible: "Row 1 is visible: it has not expired yet.",
    otherGone: "Row 3 should be visible.",
    clockBack: "The clock has to be past its beginning.",
    notBack: "A read does not give the old version of row 1.",
  },
};
