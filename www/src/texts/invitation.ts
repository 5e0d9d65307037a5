/** The texts that invite to the show. They stand on the first page, so they come with it. */

import type { Language } from "./language.ts";

/** The line, and its buttons. */
export const INVITATIONS: Readonly<Record<Language, Readonly<Record<"line" | "watch" | "own" | "file", string>>>> = {
  en: { line: "A database is running in this tab. Watch it work.", watch: "Watch it work", own: "Open my instance", file: "Drop a file" },
  zh: { line: "这个标签页里就有一个数据库。看它怎样工作。", watch: "看它工作", own: "打开我的实例", file: "拖入文件" },
};
