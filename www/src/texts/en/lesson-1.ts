/** The texts of lesson 1 in English. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Say in which order a table keeps its rows, and choose a key for it.",
  question: "The IDs are texts: 4776, 6555 and 60. Where does the row 60 stand in the scan?",
  options: ["First: 60 is the smallest number", "Second, between 4776 and 6555", "Last: it was put last"],
  explain:
    "Rows lie in the order of their key columns, the first one first. Texts compare byte by byte, so “60” stands before “6555”; integers compare as numbers. Rows with the same first column lie together, so one range reads them. Each row has its own attribute columns: a table fixes only the key.",
  task: (seed) =>
    `Create the table visit, so that all rows of a station lie together, in the order of the days: key columns station and day. Put the days 9, 10 and 11 of station S${seed}.`,
  harder: (seed) =>
    `Table latest: a scan, forwards, gives the newest day of S${seed} first. Keep the day in the attribute day (9, 10, 11), and choose the second key column so that later days are smaller.`,
  messages: {
    noTable: "There is no table visit yet.",
    wrongColumns: "The key has to have two columns: station, then day. A row's place is decided by the first one.",
    wrongType: "As a text, 10 stands before 9. Choose the type whose order is that of days. Drop the table first: drop -t visit -y",
    wrongRows: "The days of the station are not 9, 10, 11, in this order.",
    noLatest: "There is no table latest yet.",
    notNewestFirst: "The scan does not give the days 11, 10, 9.",
  },
};
