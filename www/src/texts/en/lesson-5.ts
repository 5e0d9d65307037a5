/** The texts of lesson 5 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say what a read of a missing key costs, and what compaction saves.",
  question:
    "600 rows lie in three segments whose ranges overlap. The second line that says trace asks for a key that no segment has. In how many segments does that read look at rows?",
  options: ["In all three: each could have it", "In one or two", "In none"],
  explain:
    "Each segment has a filter of its keys. It says no, which is certain, or maybe. Asked for 256 keys that are not there, it says maybe about once. So a missing key almost never costs a look at rows. Some rows were written twice: compaction merges the segments into one sorted run, and drops the older values.",
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
