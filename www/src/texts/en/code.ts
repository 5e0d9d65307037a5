/** The texts of the code view in English. */

import { counted } from "../../lib/format.ts";
import type { CodeTexts } from "../code.ts";

/** They are read as they are needed. */
export const TEXTS: CodeTexts = {
  title: "Code",
  lead: "JavaScript with await. db is the open instance, and what the package exports is there without an import. It runs in a worker of its own.",
  editor: "Program. Ctrl+Enter runs it.",
  example: "Example",
  choose: "choose",
  examples: {
    put: "Put and get a row",
    scan: "Scan with a filter",
    atomic: "All rows or none",
    watch: "Watch a table",
    stream: "Changes of a table",
  },
  run: "Run",
  runTitle: "Run the program (Ctrl+Enter)",
  stop: "Stop",
  stopTitle: "Ends the program, with timers and watchers that it left running",
  clear: "Clear",
  bringBack: "Bring back my program",
  output: "Output",
  nothing: "What console.log is given stands here, and the value of the last expression.",
  line: (line) => `line ${line}`,
  leftOut: (lines) => `${counted(lines, "earlier line")} not kept.`,
  inMemory:
    "This instance lives in the memory of the page alone, and the program runs in a worker, which cannot reach it. Open an instance in IndexedDB to run code.",
  starting: "Starting …",
  running: "Running",
  done: (ms) => `Done in ${ms}`,
  failed: "Ended by an error",
  stopped: "Stopped",
  hung: (seconds) => `Ended: the program did not answer for ${seconds} seconds. A loop without await that comes to no end does that.`,
};
