/** The texts of lesson 7 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "说出一次写入的费用，以及何时按量付费。",
  question: "写入一行，其值为 5,000 字节。消耗几个写单元？",
  options: ["一个：只有一行", "两个", "五个：每 1,000 字节一个"],
  explain:
    "一个单元是 4 KB 数据，向上取整：5,000 字节加主键是两个。表可以预留每秒的单元；无论是否用到都要付费。一秒内超出的部分按量付费，价格更高。读取也消耗单元，至少一个，行不存在时也一样。",
  task: () => "表 mine：每秒预留 10 个写单元，并写入 5 行。其中没有按量付费。时钟不动，所以都在同一秒内。",
  harder: () => "在同一秒内用掉比预留更多的单元：一部分必须按量付费。预留要保留。",
  messages: {
    noTable: "还没有表 mine。",
    notReserved: "表没有预留 10 个写单元。先删除表：drop -t mine -y",
    fewWrites: "用掉的写单元不足 5 个。",
    tooMuch: "这一秒用掉的比预留的多。",
    notAbove: "还没有按量付费的单元。",
  },
};
