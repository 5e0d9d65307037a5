/** The texts of lesson 2 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "说出读取会给出一列的哪些值，并让一个值重新出现。",
  question: "这张表保留 2 个版本。写入第三个值后，最多读 10 个版本的读取给出几个？",
  options: ["一个", "两个", "三个"],
  explain:
    "一列保留最新的若干个值，个数是表的最大版本数。更旧的值是多余的：读取立即不再给出它。它仍被存储，直到合并把它去掉；所以调高最大版本数能让它重新出现。合并之后它就永远没有了。",
  task: () => "让读取重新给出全部三个长度：600、500、400。不要写入任何数据。",
  harder: () => "只删除版本 500。600 和 400 要保留。get 的回答列出版本；500 的版本在中间。",
  messages: {
    noRow: "没有带 Length 的行 6555。请重置，并运行第 2 步的命令。",
    notThree: "读取没有给出 600、500、400。合并是否已去掉最旧的？那么请重置。",
    stillThere: "读取仍给出 500。",
    othersGone: "500 没有了，但 600 和 400 应当还在。",
  },
};
