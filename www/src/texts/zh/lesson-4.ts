/** The texts of lesson 4 in Chinese. */

import type { LessonTexts } from "../lessons.ts";

/** They are read as they are needed. */
export const TEXTS: LessonTexts = {
  goal: "说出一行在确认之后在哪里，以及强行结束会带走什么。",
  question: "300 行已被确认。然后页面被强行结束，引擎得不到通知。之后还有多少行？",
  options: ["没有：它们在内存里", "只有已在段中的行", "全部 300 行"],
  explain: "写入进了日志才被确认。读取在内存表中找到它。内存表满了就被刷写：变成按主键排序的段，日志随后放掉它。强行结束之后，日志被重新读取，内存表恢复原样。",
  task: () => "再写 200 封信，使总数为 500，并把它们全部从内存写入段中。",
  harder: () => "删除信 k000007，使它不再有任何存储：没有值，也没有删除标记。其余 499 封要保留。",
  messages: {
    wrongCount: "信的总数不是 500。",
    inMemory: "有些行只在内存表和日志中。刷写会把它们写入段。",
    wrongRest: "信的总数不是 499。",
    stillStored: "信 k000007 仍被存储。",
    marker: "删除标记仍被存储：它遮住旧值，直到合并遇到它们。",
  },
};
