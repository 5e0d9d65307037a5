/** The texts of lesson 4 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say where a row is after it was acknowledged, and what a kill takes away.",
  question: "300 rows are acknowledged. Then the page is killed, and the engine gets no word of it. How many rows are there afterwards?",
  options: ["None: they were in memory", "Those that were in a segment", "All 300"],
  explain:
    "A write is acknowledged when it is in the log. Reads find it in the memtable. A full memtable is flushed: it becomes a segment, sorted by key, and the log lets go of it. After a kill, the log is read again, so that the memtable is as it was.",
  task: () => "Write 200 more letters, so that there are 500, and bring all of them from memory into segments.",
  harder: () => "Delete the letter k000007 so that nothing of it is stored any more: no value, and no marker of the deletion. The other 499 stay.",
  messages: {
    wrongCount: "There are not 500 letters.",
    inMemory: "Some rows are only in the memtable and in the log. A flush writes them into a segment.",
    wrongRest: "There are not 499 letters.",
    stillStored: "The letter k000007 is still stored.",
    marker: "The marker of the deletion is still stored: it hides older values until a compaction meets them.",
  },
};
