/** The texts of the show in Chinese. */

import type { CompactionReason, Fetch, ReadStep } from "tabstore";

import { bytes, count, elapsed, share } from "../../lib/format.ts";
import { storedKeyText } from "../../lib/inside.ts";
import type { ShowTexts } from "../show.ts";

const REASONS: Readonly<Record<CompactionReason, string>> = {
  "level 0 full": "第 0 层的段已经足够多",
  "small partition": "该分区还小",
  "too much above the bottom": "最底层之上的数据过多",
  expired: "其中全部数据已过期",
  "deleted or expired data": "其中许多数据已删除或已过期",
  "left over": "段的大部分已无人读取",
  asked: "有人要求",
  "merge of partitions": "两个分区即将合并",
};

const fetched = (fetch: Fetch | null): string => (fetch === null ? "不需要" : fetch.from === "cache" ? "来自缓存" : `从存储读取 ${bytes(fetch.bytes)}`);

function stepText(step: ReadStep): string {
  switch (step.source) {
    case "memtable":
    case "frozen": {
      const place = step.source === "memtable" ? "内存表" : "冻结的内存表";
      return `${place}：${step.fragments === 0 ? "没有" : `${count(step.fragments)} 个改动`}${step.ends ? "，它遮住了所有更旧的数据" : ""}`;
    }
    case "image":
      return "已记住的合并结果代表所有更旧的数据";
    case "level":
      return `第 ${step.level} 层：按范围看，${count(step.segments)} 个段中有 ${count(step.segments - step.outOfRange)} 个可能有此主键`;
    case "segment": {
      const blocks = step.blocks.map(({ block, fetch }) => `块 ${block} ${fetched(fetch)}`).join("，");
      const said = {
        "not needed": "没有查询，已找到的数据遮住了所有更旧的数据",
        no: "过滤器说“没有”",
        found: `过滤器说“可能有”，${blocks}：找到`,
        "false positive": `过滤器说“可能有”，${blocks}：没有`,
      };
      return `段 ${step.segmentId}，第 ${step.level} 层：${said[step.verdict]}`;
    }
  }
}

/** They are read as they are needed. */
export const TEXTS: ShowTexts = {
  title: "工作中的数据库",
  opening: "正在打开实例……",
  step: (number, of) => `第 ${number} 步，共 ${of} 步`,
  back: "上一步",
  next: "下一步",
  hold: "暂停写入",
  go: "继续写入",
  speed: "速度",
  again: "重新开始",
  leave: "所有实例",
  keys: "方向键：上一步、下一步。空格键：暂停或继续写入。",
  waiting: (filled, budget) => `还没有发生。内存表已满 ${share(filled, budget)}。`,
  steps: {
    log: {
      title: "写入先进日志",
      text: ({ acknowledged }) => `已确认 ${count(acknowledged)} 行。每一行在得到回答之前都已写进日志，所以标签页结束后它仍然存在。段中已有的数据会离开日志。`,
    },
    memtable: {
      title: "然后进内存表",
      text: ({ entries, filled, budget }) => `内存表把新行按主键排序放在内存中：现在有 ${count(entries)} 项，${bytes(filled)}，上限 ${bytes(budget)}。`,
    },
    flush: {
      title: "满了：写成一个段",
      text: ({ done }) =>
        done.flush &&
        `内存表满了就被冻结，并写成一个段：最近一次有 ${count(done.flush.entries)} 项，用时 ${elapsed(done.flush.tookMs)}。到现在刷写了 ${count(done.flushes)} 次。`,
    },
    merge: {
      title: "段被合并",
      text: ({ done }) =>
        done.merge &&
        `${count(done.merge.inputs.length)} 个部分在第 ${done.merge.toLevel} 层变成 ${count(done.merge.outputs.length)} 个，因为${REASONS[done.merge.reason]}。到现在去掉了 ${count(done.dropped)} 个旧版本。`,
    },
    split: {
      title: "一个分区分裂",
      text: ({ done }) => done.split && `分区 ${done.split.partitionId} 的数据过多，在 ${storedKeyText(done.split.at)} 处一分为二；没有写入为此等待。`,
    },
    kill: {
      title: "现在强行结束标签页",
      text: ({ isMemory }) =>
        isMemory
          ? "此浏览器不保存数据，实例只在内存中，结束后就没有了。请看下一步。"
          : "页面在写入途中结束，引擎得不到任何通知。随后页面重新加载，并清点数据。",
    },
    found: {
      title: "确认就是保存",
      text: ({ balance }) =>
        balance && (balance.lost === 0 ? "每一行都有它最后一次被确认的写入，或者一次更新的、应答还在途中的写入。" : "有行丢失。这是一个错误，请报告。"),
    },
    ask: { title: "问它", text: () => "输入一个主键。图中显示这次读取看过哪里，以及哪里的过滤器说“没有”。" },
  },
  waitingFor: { found: "还没有结束过标签页。请回到上一步。" },
  kill: "立即结束此标签页",
  killing: "标签页正在结束……",
  balance: { acknowledged: "已确认的写入", expected: "写过的行", found: "找到的行", lost: "丢失", opened: "打开用时" },
  facts: {
    caption: "用数字表示",
    rows: "已确认的行",
    perSecond: "每秒行数",
    log: "日志记录",
    memtable: "内存表",
    flushes: "刷写",
    merges: "合并",
    dropped: "去掉的旧版本",
    segments: "段",
    partitions: "分区",
    none: "尚未测得",
  },
  table: "用表格列出各段",
  ask: {
    key: "主键",
    submit: "查询",
    present: "一个存在的",
    absent: "一个不存在的",
    found: (row, units, ms) => `找到该行：${row}。${count(units)} 个读单元，${elapsed(ms)}。`,
    missing: (units, ms) => `没有这一行。${count(units)} 个读单元，${elapsed(ms)}。`,
    path: "读取的路径",
    colours: "行已暂停。绿色：在那里找到。棕色：过滤器说“没有”。红色：它说“可能有”，但没有。灰色：没有查询。",
    step: stepText,
  },
  doors: {
    title: "接下来",
    lesson: "第 1 课",
    lessonAbout: "行与主键，五分钟。",
    file: "我自己的文件",
    fileAbout: "CSV、JSON 或 NDJSON。文件只留在此浏览器中。",
    code: "同样的事，用代码",
    copy: "复制",
    copied: "已复制",
  },
};
