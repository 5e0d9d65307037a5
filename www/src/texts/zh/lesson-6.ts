/** The texts of lesson 6 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "选择能让表分散开的第一个主键列。",
  question: "一个页面的 3,000 次访问，和 100 个页面的 3,000 次访问。第一个主键列是页面。哪张表会分裂成多个分区？",
  options: ["两张都会：它们一样大", "都不会", "只有 100 个页面的那张"],
  explain:
    "第一个主键列是分区键。值相同的行留在同一个分区，因为一步写多行需要这样。所以表只能在两个值之间分裂。流量集中的值是热点：分裂没有帮助，只有换主键才行。",
  task: () => "表 fair：一个页面，许多用户。请选择列 user、page、at 的顺序，使 100 个用户的 3,000 次访问能分裂成两个或更多分区。请改正第一行。",
  harder: () => "让 fair 有五个或更多分区。fill 3000 200 增加 200 个用户的 3,000 行。",
  messages: {
    noFair: "还没有表 fair。",
    wrongKey: "第一个主键列要是 user，并且 page 也要是主键列。先删除表：drop -t fair -y",
    fewRows: "fair 中不足 3,000 行。",
    fewPartitions: "fair 的分区太少。行是否已刷写，后台工作是否已完成？还是所有行的第一列都相同？",
  },
};
