// Browsers: driven by Playwright, or started bare to be killed. Each test has a profile of its own.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { chromium } from "playwright-core";

export const BACKENDS = ["LevelDB", "SQLite"];

const executablePath = process.env.CHROME ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** `backend`: where Chromium keeps IndexedDB; people have either. */
function flags(backend) {
  return [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    ...(backend === "SQLite" ? ["--enable-features=IdbSqliteBackingStore,IdbSqliteOnDiskRollout"] : []),
  ];
}

/** A new profile folder, removed after the test. */
export function newProfile(t) {
  const profile = mkdtempSync(path.join(os.tmpdir(), "tabstore-e2e-"));
  if (process.env.E2E_KEEP === "1") t.note(`profile: ${profile}`);
  else t.after(() => rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return profile;
}

/** A browser driven by Playwright, closed after the test. */
export async function startBrowser(t, { backend = "LevelDB", profile = newProfile(t), viewport = null } = {}) {
  const context = await chromium.launchPersistentContext(profile, { executablePath, args: flags(backend), headless: true, viewport });
  t.after(() => context.close());
  return context;
}

/** A page of our server with the package on it, as `T`. Uncaught errors fail the test. */
export async function openPage(t, context, server, file = "/") {
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error));
  t.after(() => {
    if (errors.length > 0) throw new Error(`the page threw: ${errors.join("; ")}`);
  });
  await load(page, server, file);
  return page;
}

/** Goes to a page of our server and waits until the package is there. */
export async function load(page, server, file = "/") {
  await page.goto(server.origin + file);
  await page.waitForFunction(() => globalThis.T !== undefined);
}

/** Reloads a page and waits until the package is there. */
export async function reload(page) {
  await page.reload();
  await page.waitForFunction(() => globalThis.T !== undefined);
}

/** All processes below `pid`, which is one of them. */
function tree(pid) {
  const children = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = [pid];
  for (const one of found) found.push(...(children.get(one) ?? []));
  return found;
}

function alive(pid) {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** A browser without a driver, on `url`. `kill` ends all its processes at once, as a crash of the machine's session would. */
export function startBare(t, profile, url, backend) {
  const child = spawn(executablePath, [...flags(backend), "--headless=new", `--user-data-dir=${profile}`, url], { stdio: ["ignore", "ignore", openSync(path.join(profile, "stderr.txt"), "a")], detached: true });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    // Stopped first: otherwise a process that has not been killed yet could tidy up.
    const pids = tree(child.pid);
    for (const signal of ["SIGSTOP", "SIGKILL"]) {
      for (const pid of pids) {
        try {
          process.kill(pid, signal);
        } catch {
          // It has ended meanwhile.
        }
      }
    }
    await ended;
    while (pids.some(alive)) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  t.after(kill);
  return { kill, ended };
}

/** The renderer processes of a browser that Playwright drives. */
async function renderers(context) {
  const session = await context.browser().newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

/**
 * Kills all renderers, and waits until the browser has noticed: it gives a new page a spare one, and would take one that is
 * dead without its knowing.
 */
export async function killRenderers(context) {
  const killed = await renderers(context);
  for (const pid of killed) process.kill(pid, "SIGKILL");
  while ((await renderers(context)).some((pid) => killed.includes(pid))) await new Promise((resolve) => setTimeout(resolve, 10));
}
