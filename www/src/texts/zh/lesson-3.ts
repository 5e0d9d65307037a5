/** The texts of lesson 3 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "精确到毫秒地说出表接受哪些版本，以及值何时过期。",
  question: "时钟停在 2016-07-20 16:00 UTC。数据生命周期和有效版本偏差都是一天。写入四个值：一天前；再早一毫秒；比一天后早一毫秒；一天后。接受几个？",
  options: ["全部四个", "三个", "两个"],
  explain:
    "版本必须在窗口之内：从时钟减偏差（包含）到时钟加偏差（不包含）。版本早于时钟减数据生命周期的值就过期。读取立即隐藏它；合并把它去掉。更长的数据生命周期能让隐藏的值重新出现。",
  task: () => "只靠时间隐藏第 1 行。它仍被存储，第 3 行仍可见。命令 clock +1 把时钟拨快一秒。",
  harder: () => "让第 1 行带着旧版本重新出现。时钟不能往回拨。",
  messages: {
    notStored: "第 1 行已不再存储。请重置，并运行第 2 步的命令。",
    stillVisible: "第 1 行可见：它还没有过期。",
    otherGone: "第 3 行应当可见。",
    clockBack: "时钟必须晚于开始时的时间。",
    notBack: "读取没有给出第 1 行的旧版本。",
  },
};
