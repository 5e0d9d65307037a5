// Chromium by Playwright, over the DevTools protocol.

import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";

import { chromium } from "playwright-core";

import { tier } from "../../../report.mjs";
import { makeProfile } from "../profiles.mjs";

const executablePath = process.env.CHROME ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/**
 * What drives pages at the gate: Chromium without its windows, whose tests need a fifth less of the processors. Browsers that are
 * killed or have an extension are Chromium itself, and all are where everything runs, or where CHROME alone names the browser to test.
 */
const shell = process.env.CHROME_SHELL ?? (process.env.CHROME === undefined ? "/usr/bin/chromium-headless-shell" : undefined);
const drivenPath = tier !== "full" && shell !== undefined && existsSync(shell) ? shell : executablePath;

/** At the gate the services of the network and of drawing, which no test is about, are no processes of their own. */
const isLight = drivenPath !== executablePath;

/** `backend`: where Chromium keeps IndexedDB; people have either. */
function flags(backend, isLight = false) {
  const features = [...(backend === "SQLite" ? ["IdbSqliteBackingStore", "IdbSqliteOnDiskRollout"] : []), ...(isLight ? ["NetworkServiceInProcess2"] : [])];
  return [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    ...(isLight ? ["--in-process-gpu"] : []),
    ...(features.length > 0 ? [`--enable-features=${features.join(",")}`] : []),
  ];
}

/** The renderer processes of a browser that Playwright drives. */
async function renderers(context) {
  const session = await context.browser().newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

const start = (profile, { backend, viewport, args = [] }) =>
  chromium.launchPersistentContext(profile, { executablePath: drivenPath, args: [...flags(backend, isLight), ...args], headless: true, viewport });

/** The browsers that tests share, by backend. A context that Playwright makes would be off the record: its data in memory. */
const shared = new Map();

async function launchShared(backend) {
  const profile = makeProfile();
  const context = await start(profile, { backend, viewport: null });
  return { context, profile };
}

export default {
  name: "Chromium",
  backends: ["LevelDB", "SQLite"],
  lacks: { installing: "an extension is driven here" },
  renderers,

  start,

  /** A part of a browser that tests share: what it opens is closed with it, and what it adds is for its own pages. */
  async share({ backend, viewport }) {
    if (!shared.has(backend)) shared.set(backend, launchShared(backend));
    const { context } = await shared.get(backend);
    const scripts = [];
    return {
      async newPage() {
        const page = await context.newPage();
        if (viewport !== null) await page.setViewportSize(viewport);
        for (const script of scripts) await page.addInitScript(script);
        return page;
      },
      addInitScript: (script) => scripts.push(script),
      newCDPSession: (page) => context.newCDPSession(page),
      browser: () => context.browser(),
      close: () => Promise.all(context.pages().map((page) => page.close())),
    };
  },

  async reset() {
    const all = [...shared.values()];
    shared.clear();
    for (const { context, profile } of await Promise.all(all)) {
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
  },

  bare: (profile, url, backend) => ({ command: executablePath, args: [...flags(backend), "--headless=new", `--user-data-dir=${profile}`, url] }),

  insecure: ({ origin }) => ({ origin: origin.replace("127.0.0.1", "tabstore.test"), args: ["--host-resolver-rules=MAP tabstore.test 127.0.0.1"] }),

  /** Ends all service workers, as the browser does with idle ones. */
  async endServiceWorkers(context, page) {
    const session = await context.newCDPSession(page);
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.stopAllWorkers");
    await session.detach();
  },

  // What Playwright launches without a profile is off the record.
  async startPrivate() {
    const browser = await chromium.launch({ executablePath: drivenPath, args: flags("LevelDB"), headless: true });
    const context = await browser.newContext();
    return { newPage: () => context.newPage(), close: () => browser.close() };
  },

  /** A browser with an extension in a folder, and the origin of that extension. */
  async startExtension(profile, folder) {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      ignoreDefaultArgs: ["--disable-extensions"],
      args: [...flags("LevelDB"), `--load-extension=${folder}`, "--disable-features=DisableLoadExtensionCommandLineSwitch"],
    });
    // An extension without a key is called by its folder.
    const id = createHash("sha256")
      .update(folder)
      .digest("hex")
      .slice(0, 32)
      .replace(/./g, (digit) => "abcdefghijklmnop"[parseInt(digit, 16)]);
    return { context, origin: `chrome-extension://${id}` };
  },

  /** Limits the room of a server's origin to `bytes`, or no more. */
  async limit(context, page, { origin }, bytes) {
    const session = await context.newCDPSession(page);
    // It holds as long as its session.
    const set = (quotaSize) => session.send("Storage.overrideQuotaForOrigin", { origin, ...(quotaSize === undefined ? {} : { quotaSize }) });
    await set(bytes);
    return set;
  },

  /** Clears what a server's pages have stored. */
  async clear(context, page, { origin }, storageTypes = "indexeddb") {
    const session = await context.newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes });
  },

  /** Crashes the process of a page. */
  async crash(context, page) {
    const crashed = page.waitForEvent("crash");
    const session = await context.newCDPSession(page);
    session.send("Page.crash").catch(() => {});
    await crashed;
  },

  /**
   * Kills the processes of all pages, and waits until the browser has noticed: it gives a new page a spare one, and would take
   * one that is dead without its knowing.
   */
  async kill(context, page) {
    const crashed = page.waitForEvent("crash");
    const killed = await renderers(context);
    for (const pid of killed) process.kill(pid, "SIGKILL");
    while ((await renderers(context)).some((pid) => killed.includes(pid))) await new Promise((resolve) => setTimeout(resolve, 10));
    await crashed;
  },
};
