// Firefox by Playwright, over WebDriver BiDi.
//
// Playwright is pinned: from 1.65 on it needs a command of the protocol that Firefox ESR 153 has not.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { firefox } from "playwright-core";

import { kill, tree, withProcess } from "../processes.mjs";

const program = process.env.FIREFOX ?? ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find(existsSync);

const firefoxUserPrefs = {
  // A process for each tab, so that one can be killed alone; and none in advance.
  "dom.ipc.processCount.webIsolated": 32,
  "dom.ipc.processPrelaunch.enabled": false,
  // A browser that was killed comes back with the page that it is told, and asks nothing.
  "browser.sessionstore.resume_from_crash": false,
  "toolkit.startup.max_resumed_crashes": -1,
  // A page that asks to keep its data is refused, as by other browsers without a window. Firefox would ask a person.
  "dom.storageManager.prompt.testing": true,
  "dom.storageManager.prompt.testing.allow": false,
  // After some seconds Firefox would load the page again, hidden and with storage of its own, for a picture of it.
  "browser.pagethumbnails.capturing_disabled": true,
  // A name of this machine that is not trusted as `localhost` is.
  "network.dns.localDomains": "tabstore.test",
  // Idle service workers end after this time (ms).
  "dom.serviceWorkers.idle_timeout": 1000,
  // Extensions of a profile run, without a signature.
  "extensions.autoDisableScopes": 0,
  "xpinstall.signatures.required": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.aboutwelcome.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "app.normandy.enabled": false,
  "app.update.enabled": false,
};

const driven = {
  executablePath: fileURLToPath(new URL("firefox.sh", import.meta.url)),
  env: { ...process.env, FIREFOX: program },
  channel: "moz-firefox",
  headless: true,
  firefoxUserPrefs,
};

/** Of a context, pages whose processes are known. */
function watched(context) {
  const newPage = context.newPage.bind(context);
  context.newPage = () => withProcess(newPage, () => tree(process.pid, "Isolated Web Co"));
  return context;
}

let shared;

async function crash(context, page) {
  await Promise.all([page.waitForURL(/^about:tabcrashed/, { waitUntil: "commit" }), kill([page.process()])]);
}

export default {
  name: "Firefox",
  backends: ["SQLite"],
  lacks: {
    levelDB: "Firefox keeps IndexedDB in SQLite",
    resizing: "the quota of Firefox is a preference, and stays the same until the browser ends",
    files: "the log stays in IndexedDB: each call on a file waits for another thread there",
    workers: "Playwright runs no code in workers over WebDriver BiDi",
    removal: "Firefox runs nothing more of a removed frame, not even what tells a page that waits for a promise of the frame",
    node: "it is the same in all engines",
    clear: "WebDriver BiDi cannot clear a site's data",
    downloads: "Playwright hears of no download over WebDriver BiDi",
    asking: "a page that waits for a synchronous request hears messages, and answers that it lives",
    fineTimes: "times are whole milliseconds",
    extensions: "WebDriver BiDi goes to no page of an extension",
  },

  /**
   * Firefox reports what a policy forbids, and modules that do not come, like an error that nobody caught; and a rejection in a worker, though
   * the worker has said that it is handled. Tests reject with `unheard` there.
   */
  isNotice: (error) => /^((Content-Security-Policy|Security Error):|Loading module from |RangeError: unheard$)/.test(String(error)),

  /** A start takes seconds, so tests share a browser; each has a container of its own. */
  async share({ viewport }) {
    shared ??= firefox.launch(driven);
    return watched(await (await shared).newContext({ viewport }));
  },

  async reset() {
    const browser = await shared;
    shared = undefined;
    await browser?.close();
  },

  insecure: ({ origin }) => ({ origin: origin.replace("127.0.0.1", "tabstore.test"), args: [] }),

  // They end by themselves soon: see the preference.
  async endServiceWorkers() {},

  async startPrivate() {
    const browser = await firefox.launch({ ...driven, firefoxUserPrefs: { ...firefoxUserPrefs, "browser.privatebrowsing.autostart": true } });
    const context = await browser.newContext();
    return { newPage: () => context.newPage(), close: () => browser.close() };
  },

  /** An origin gets a fifth of all space, which the preference has in KB, and 10 MB at least. */
  async start(profile, { viewport, room }) {
    const limit = room === undefined ? {} : { "dom.quotaManager.temporaryStorage.fixedLimit": Math.ceil((room * 5) / 1024) };
    return watched(await firefox.launchPersistentContext(profile, { ...driven, viewport, firefoxUserPrefs: { ...firefoxUserPrefs, ...limit } }));
  },

  /** Puts an extension, which is in a folder, into a profile. */
  install(profile, folder, id) {
    mkdirSync(path.join(profile, "extensions"));
    writeFileSync(path.join(profile, "extensions", id), folder);
  },

  bare(profile, url) {
    const lines = Object.entries(firefoxUserPrefs).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
    writeFileSync(path.join(profile, "user.js"), lines.join(""));
    return { command: program, args: ["--headless", "--no-remote", "--profile", profile, url] };
  },

  crash,
  kill: crash,
};
