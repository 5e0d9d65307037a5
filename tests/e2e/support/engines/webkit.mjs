// WebKitGTK's small browser by its WebDriver, on a display of its own.

import { spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import path from "node:path";

import { kill, threads, tree, withProcess } from "../processes.mjs";
import { makeProfile } from "../profiles.mjs";
import { Context } from "./webdriver.mjs";

const LIBRARIES = "/usr/lib";
const binary =
  process.env.MINIBROWSER ??
  readdirSync(LIBRARIES)
    .map((folder) => path.join(LIBRARIES, folder, "webkit2gtk-4.1/MiniBrowser"))
    .find(existsSync);
const driver = process.env.WEBKITWEBDRIVER ?? "/usr/bin/WebKitWebDriver";

let display;

/** The display of all browsers of this run. */
function ownDisplay() {
  display ??= new Promise((resolve, reject) => {
    // Without `-noreset` it starts anew when the last browser ends, and refuses one that starts meanwhile.
    const server = spawn("Xvfb", ["-displayfd", "3", "-noreset", "-screen", "0", "1440x900x24", "-nolisten", "tcp"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    server.once("error", reject);
    server.stdio[3].once("data", (number) => resolve(`:${String(number).trim()}`));
    process.once("exit", () => server.kill());
    server.unref();
    server.stdio[3].unref();
  });
  return display;
}

const environment = async (profile) => ({
  DISPLAY: await ownDisplay(),
  HOME: profile,
  XDG_DATA_HOME: profile,
  XDG_CACHE_HOME: profile,
  XDG_CONFIG_HOME: profile,
  // Tests run as root.
  WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
});

/** A port that nobody uses. */
const freePort = () =>
  new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function startDriver(env) {
  const port = await freePort();
  const child = spawn(driver, [`--port=${port}`], { env: { ...process.env, ...env }, stdio: "ignore", detached: true });
  const failed = new Promise((_, reject) => child.once("error", reject));
  const ready = async () => {
    for (;;) {
      try {
        return await fetch(`http://127.0.0.1:${port}/status`);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  };
  await Promise.race([ready(), failed]);
  return { port, pid: child.pid, runs: () => child.exitCode === null && child.signalCode === null };
}

async function start(profile, { args = [] }) {
  const { port, pid, runs } = await startDriver(await environment(profile));
  const context = await Context.start(port, { "webkitgtk:browserOptions": { binary, args: ["--automation", ...args] } }, () => kill(tree(pid)));
  context.runs = runs;
  const newPage = context.newPage.bind(context);
  context.newPage = async () => {
    const page = await withProcess(newPage, () => tree(pid, "WebKitWebProces"));
    page.workers = () => threads(page.process(), "WebCore: Worker");
    return page;
  };
  return context;
}

/** The browser that tests share. */
let shared;

async function launchShared() {
  const profile = makeProfile();
  return { context: await start(profile, {}), profile };
}

export default {
  name: "WebKit",
  backends: ["SQLite"],
  lacks: {
    apart: "a worker of WebKit reaches other tabs by the thread of its page, and hangs with it",
    quota: "WebKitGTK has no quota that a test could set",
    levelDB: "WebKit keeps IndexedDB in SQLite",
    resizing: "WebKitGTK has no quota that a test could set",
    crash: "WebKitWebDriver ends its session with the first page that crashes",
    restart: "a driven WebKitGTK forgets its data when it ends",
    files: "WebKitGTK has no files of an origin",
    storage: "WebKitGTK has no navigator.storage, and no files of an origin",
    locators: "WebDriver finds no elements by their roles",
    frames: "our WebDriver runs code in pages only",
    workers: "WebDriver runs no code in workers",
    removal: "WebKit sometimes keeps the lock or the connection of a removed frame, and then nobody opens its instance again",
    stack: "WebKit reports a rejection that nobody had the stack to handle",
    node: "it is the same in all engines",
    clear: "WebDriver cannot clear a site's data",
    extensions: "WebKitGTK's small browser has no extensions",
    installing: "WebKitGTK's small browser has no extensions",
    private: "a driven WebKitGTK is always private: all tests run so",
    serviceEnds: "nothing tells WebKitGTK to end a service worker",
  },

  // A proxy finds any name.
  insecure: ({ origin }) => ({ origin: "http://tabstore.test", args: [`--proxy=${origin}`] }),

  start,

  /** A part of a browser that tests share: what it opens is closed with it, and what it adds is for its own pages. */
  async share() {
    // A driver may have ended with a page of the test before, which had what it wanted by then.
    if (shared !== undefined && !(await shared).context.runs()) await this.reset();
    shared ??= launchShared();
    const { context } = await shared;
    const pages = [];
    return {
      async newPage() {
        const page = await context.newPage();
        pages.push(page);
        return page;
      },
      addInitScript: (script) => context.addInitScript(script),
      async close() {
        context.scripts = [];
        // A test may have closed some.
        for (const page of pages) await page.close().catch(() => {});
      },
    };
  },

  async reset() {
    const browser = await shared;
    shared = undefined;
    if (browser === undefined) return;
    await browser.context.close();
    rmSync(browser.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  },

  bare: async (profile, url) => ({ command: binary, args: [url], env: await environment(profile) }),
};
