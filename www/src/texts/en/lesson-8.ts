/** The texts of lesson 8 in English. */

import { amountOf } from "../../lessons/amount.ts";
import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "Change rows safely while others change them too.",
  question: "Ann's cash is 100. A put of 5 has the condition that there is no such row. What is her cash afterwards?",
  options: ["5", "100", "105"],
  explain:
    "A condition is checked in the same step as the write; if it does not hold, nothing is written. An increment adds inside the store, so no other write is lost. A transaction changes rows of one partition key, all or none. The stream has each change in its order, and nothing that was refused.",
  task: (seed) => `Move ${amountOf(seed)} of Bob's cash into his savings, both rows or none: transfer bob ${amountOf(seed)}. The sum stays 100.`,
  harder: () => "Delete Ann's savings only if the balance is what it is now. The stream has to tell of the deletion, and the three other rows stay.",
  messages: {
    noRow: "Bob has no cash or no savings. Reset.",
    wrongSum: "The sum of Bob's rows is not 100: money came or went.",
    wrongAmount: "That is not the amount that was asked for.",
    wrongCount: "There are not three rows left.",
    stillThere: "Ann's savings are still there.",
    notTold: "The stream does not tell of the deletion.",
  },
};
