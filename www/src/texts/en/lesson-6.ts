/** The texts of lesson 6 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Choose a first key column that lets a table spread.",
  question: "3,000 visits of one page, and 3,000 visits of 100 pages. The first key column is the page. Which table is split into partitions?",
  options: ["Both: they are of the same size", "Neither", "Only the one of 100 pages"],
  explain:
    "The first key column is the partition key. Rows with the same value stay in one partition, because one step over several rows needs that. So a table is split between two values only. A value that gets most of the traffic is a hot key: no split helps, only another key.",
  task: () =>
    "Table fair: one page, many users. Choose the order of the columns user, page, at so that 3,000 visits of 100 users can be split into two partitions or more. Correct the first line.",
  harder: () => "Bring fair to five partitions or more. fill 3000 200 adds 3,000 rows of 200 users.",
  messages: {
    noFair: "There is no table fair yet.",
    wrongKey: "The first key column has to be user, and page has to be one too. Drop the table first: drop -t fair -y",
    fewRows: "There are fewer than 3,000 rows in fair.",
    fewPartitions: "fair has too few partitions. Were the rows flushed, and was the background work done? Or have all rows the same first column?",
  },
};
