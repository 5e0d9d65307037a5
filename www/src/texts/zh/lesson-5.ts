/** The texts of lesson 5 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "说出读取不存在的主键要多少代价，以及合并节省什么。",
  question: "600 行分布在三个范围重叠的段中。第二条 trace 命令查询一个所有段都没有的主键。这次读取要看几个段里的行？",
  options: ["三个都读：每个都可能有", "一个或两个", "一个也不读"],
  explain:
    "每个段有一个主键过滤器。它说“没有”，这是确定的；或者说“可能有”。查询 256 个不存在的主键，它大约有一次说“可能有”。所以不存在的主键几乎不用看任何行。有些行写过两次：合并把几个段变成一个有序的段，并去掉旧值。",
  task: () => "让每次读取最多只看一个段。600 行都要保留。",
  harder: () => "让所有行过期，并让它们的段消失。表本身要保留。已给出一天的数据生命周期；拨动时钟后还需要一步。",
  messages: {
    wrongCount: "行数不是 600。",
    notOne: "要看的地方不止一个：段或内存表。",
    dropped: "表已不在。请重置。",
    rowsLeft: "读取仍给出一些行。",
    segmentsLeft: "行已过期，但它们的段仍被存储。",
  },
};
