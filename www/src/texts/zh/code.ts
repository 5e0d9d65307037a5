/** The texts of the code view in Chinese. */

import { count } from "../../lib/format.ts";
import type { CodeTexts } from "../code.ts";

/** They are read as they are needed. */
export const TEXTS: CodeTexts = {
  title: "代码",
  lead: "支持 await 的 JavaScript。db 就是当前打开的实例，包的导出无需 import 即可使用。程序在独立的 worker 中运行。",
  editor: "程序。按 Ctrl+Enter 运行。",
  example: "示例",
  choose: "请选择",
  examples: {
    put: "写入并读取一行",
    scan: "带过滤器的扫描",
    atomic: "全部写入或全不写入",
    watch: "监视一张表",
    stream: "表的变更",
  },
  run: "运行",
  runTitle: "运行程序（Ctrl+Enter）",
  stop: "停止",
  stopTitle: "结束程序，以及它留下的定时器和监听",
  clear: "清空",
  bringBack: "恢复我的程序",
  output: "输出",
  nothing: "console.log 的内容和最后一个表达式的值显示在这里。",
  line: (line) => `第 ${line} 行`,
  leftOut: (lines) => `更早的 ${count(lines)} 行未保留。`,
  inMemory: "这个实例只存在于本页面的内存中，而程序在 worker 中运行，无法访问它。要运行代码，请打开一个 IndexedDB 中的实例。",
  starting: "正在启动……",
  running: "正在运行",
  done: (ms) => `已完成，用时 ${ms}`,
  failed: "因错误而结束",
  stopped: "已停止",
  hung: (seconds) => `已结束：程序连续 ${seconds} 秒没有回应。没有 await 的死循环会造成这种情况。`,
};
