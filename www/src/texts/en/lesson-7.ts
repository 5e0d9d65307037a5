/** The texts of lesson 7 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say what a write costs, and when it is paid on demand.",
  question: "A row with a value of 5,000 bytes is put. How many write units is that?",
  options: ["One: it is one row", "Two", "Five: one for each 1,000 bytes"],
  explain:
    "A unit is 4 KB of data, rounded up: 5,000 bytes and the key are two. A table may reserve units a second. They are paid for, used or not. What one second uses above them is on demand, and costs more. A read costs units too, at least one, also of a missing row.",
  task: () => "Table mine: reserve 10 write units a second, and write 5 rows. Nothing of it is on demand. The clock stands still, so all of it is one second.",
  harder: () => "Use more than the reserved units in the same second: some units have to be on demand. The reservation stays.",
  messages: {
    noTable: "There is no table mine yet.",
    notReserved: "The table does not reserve 10 write units. Drop it first: drop -t mine -y",
    fewWrites: "Fewer than 5 write units were used.",
    tooMuch: "More was used in this second than is reserved.",
    notAbove: "Nothing is on demand yet.",
  },
};
