/** The texts of lesson 2 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say which of a column's values a read gives, and bring one back.",
  question: "The table keeps 2 versions. A third value is written. How many does a read of up to 10 versions give then?",
  options: ["One", "Two", "Three"],
  explain:
    "A column keeps the newest values, as many as the table's maximum of versions. An older one is surplus: reads do not give it any more, at once. It is still stored until a compaction removes it, so a higher maximum brings it back. After a compaction it is gone for good.",
  task: () => "Let a read give all three lengths again: 600, 500, 400. Write nothing.",
  harder: () => "Delete the version 500 alone. The values 600 and 400 stay. The answer of get tells the versions; 500 has the one in the middle.",
  messages: {
    noRow: "There is no row 6555 with a Length. Reset, and run the lines of step 2.",
    notThree: "A read does not give 600, 500 and 400. Did a compaction remove the oldest? Then reset.",
    stillThere: "A read still gives 500.",
    othersGone: "500 is gone, but 600 and 400 should be there.",
  },
};
