/** The texts of lesson 1 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "说出表按什么顺序保存行，并为它选择主键。",
  question: "ID 是文本：4776、6555 和 60。扫描时 60 这一行排在哪里？",
  options: ["第一：60 是最小的数", "第二：在 4776 和 6555 之间", "最后：它最后写入"],
  explain:
    "行按主键列的顺序排列，第一列最先比较。文本逐字节比较，所以“60”在“6555”之前；整数按数值比较。第一列相同的行相邻，一次范围读取就能读到。每一行有自己的属性列：表只固定主键。",
  task: (seed) => `创建表 visit，让同一站点的行相邻并按天排序：主键列为 station 和 day。写入站点 S${seed} 的第 9、10、11 天。`,
  harder: (seed) => `表 latest：正向扫描时先得到 S${seed} 最新的一天。把天放在属性 day 中（9、10、11），并选择第二个主键列的值，使较晚的天更小。`,
  messages: {
    noTable: "还没有表 visit。",
    wrongColumns: "主键要有两列：先 station，后 day。第一列决定行的位置。",
    wrongType: "作为文本，10 排在 9 之前。请选择顺序与天一致的类型。先删除表：drop -t visit -y",
    wrongRows: "该站点的天不是依次 9、10、11。",
    noLatest: "还没有表 latest。",
    notNewestFirst: "扫描没有依次给出 11、10、9。",
  },
};
