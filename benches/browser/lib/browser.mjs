// Starts Chromium with a profile of its own, and measures its use of the machine.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--js-flags=--expose-gc",
];
const SQLITE = "--enable-features=IdbSqliteBackingStore,IdbSqliteOnDiskRollout";

/** A headless Chromium. With `sqlite` its IndexedDB is kept in SQLite, as in coming versions, instead of LevelDB. */
export class Browser {
  static async start(sqlite = false) {
    const me = new Browser();
    me.profile = mkdtempSync(path.join(os.tmpdir(), "tabstore-bench-"));
    me.context = await chromium.launchPersistentContext(me.profile, {
      executablePath: process.env.CHROME ?? "/usr/bin/chromium",
      headless: true,
      viewport: null,
      args: sqlite ? [...FLAGS, SQLITE] : FLAGS,
    });
    return me;
  }

  get version() {
    return this.context.browser()?.version() ?? "";
  }

  /** A page whose scripts have put `ready` on its global object. */
  async open(address, ready = "bench") {
    const page = await this.context.newPage();
    page.on("pageerror", (error) => {
      // PGlite ends with exceptions that have at most a name: it stores once more after it has closed its files.
      if (!/^(ErrnoError|ExitStatus)?$/.test(error.stack ?? "")) console.error(`\n${error.stack}`);
    });
    page.on("crash", () => console.error("\nthe page crashed"));
    page.on("console", (message) => {
      // SQLite warns that some storages need headers, which its pool does not need. Dexie warns that closing takes a moment.
      if ((message.type() === "error" || message.type() === "warning") && !/sqlite3_vfs|was blocked/.test(message.text()))
        console.error(`\n${message.type()}: ${message.text()}`);
    });
    page.setDefaultTimeout(0);
    await page.goto(address);
    await page.waitForFunction((name) => globalThis[name] !== undefined, ready);
    return page;
  }

  /** The memory, in bytes, that only the largest renderer has: a page and its workers. */
  async rendererBytes() {
    const session = await this.context.browser().newBrowserCDPSession();
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    await session.detach();
    const renderers = processInfo.filter(({ type }) => type === "renderer");
    return Math.max(0, ...renderers.map(({ id }) => privateBytes(id)));
  }

  /** The bytes on disk of the files of IndexedDB, and of those of OPFS, of all origins. */
  storedBytes() {
    const folder = path.join(this.profile, "Default");
    return ["IndexedDB", "File System", "WebStorage"].reduce((sum, name) => sum + folderBytes(path.join(folder, name)), 0);
  }

  async stop() {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

function privateBytes(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Private_Dirty:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
  } catch {
    // The process has ended meanwhile, or this is not Linux.
    return 0;
  }
}

function folderBytes(folder) {
  let sum = 0;
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      try {
        sum += entry.isDirectory() ? folderBytes(file) : statSync(file).size;
      } catch {
        // The browser has removed it meanwhile.
      }
    }
  } catch {
    // It is not there.
  }
  return sum;
}
