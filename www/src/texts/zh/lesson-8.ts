/** The texts of lesson 8 in Chinese. */

import { amountOf } from "../../lessons/amount.ts";
import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "在别人也修改行时安全地修改行。",
  question: "Ann 的现金是 100。写入 5 的条件是该行不存在。之后她的现金是多少？",
  options: ["5", "100", "105"],
  explain:
    "条件与写入在同一步中检查；条件不成立就什么也不写。自增在存储内部相加，所以不会丢失别人的写入。事务修改同一分区键的行，全部成功或全部不做。数据流按顺序记录每个改动，不记录被拒绝的。",
  task: (seed) => `把 Bob 的现金中的 ${amountOf(seed)} 转入储蓄，两行都改或都不改：transfer bob ${amountOf(seed)}。总和仍为 100。`,
  harder: () => "只有余额仍是现在的值时才删除 Ann 的储蓄。数据流必须记录这次删除，其余三行要保留。",
  messages: {
    noRow: "Bob 没有现金或储蓄。请重置。",
    wrongSum: "Bob 两行的总和不是 100：钱多了或少了。",
    wrongAmount: "这不是所要求的数额。",
    wrongCount: "剩下的不是三行。",
    stillThere: "Ann 的储蓄仍在。",
    notTold: "数据流没有记录这次删除。",
  },
};
