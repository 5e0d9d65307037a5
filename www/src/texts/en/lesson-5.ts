/** The texts of lesson 5 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say what a read of a missing key costs, and what compaction saves.",
  question:
    "600 rows lie in three segments whose ranges overlap. The second trace asks for a key that no segment has. In how many segments does it read a block?",
  options: ["In all three: each could have it", "In one or two", "In none"],
  explain:
    "Each segment has a filter of its keys. It says no, which is certain, or maybe; about one maybe of 256 is wrong. So a missing key costs no block. A key that is there may be in each segment. Compaction merges them into one sorted run, and drops what is hidden.",
  task: () => "Let every read look into one segment at most. All 600 rows stay.",
  harder: () =>
    "Let all rows expire, and let their segments go. The table itself stays. A time to live of a day is given; one more thing is needed after the clock.",
  messages: {
    wrongCount: "There are not 600 rows.",
    notOne: "There is more than one place to look: segments or a memtable.",
    dropped: "The table is gone. Reset to have it back.",
    rowsLeft: "There are rows that a read gives.",
    segmentsLeft: "The rows have expired, but their segments are still stored.",
  },
};
