// Browsers: driven, or started bare to be killed. Tests of a lane share a driven browser and its profile, in which each has origins of
// its own: its server has a port that no other test had.

import { spawn } from "node:child_process";
import { openSync, rmSync } from "node:fs";
import path from "node:path";

import { engine } from "./engine.mjs";
import { kill, tree } from "./processes.mjs";
import { makeProfile } from "./profiles.mjs";

export const BACKENDS = engine.backends;

/** A new profile folder, removed after the test. */
export function newProfile(t) {
  const profile = makeProfile();
  if (process.env.E2E_KEEP === "1") t.note(`profile: ${profile}`);
  else t.after(() => rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return profile;
}

/**
 * A driven browser; its pages are closed after the test. It is one of its own for a test that asks so, or gives a `profile`, which
 * can come back, more `args`, or `room`: the space of each origin, where that is known from the start; see `openLimited`.
 */
export async function startBrowser(t, { backend = BACKENDS[0], profile, viewport = null, args = [], room, own = false } = {}) {
  const isOwn = own || profile !== undefined || args.length > 0 || (room !== undefined && engine.limit === undefined);
  const context = isOwn ? await engine.start(profile ?? newProfile(t), { backend, viewport, args, room }) : await engine.share({ backend, viewport });
  t.after(() => context.close());
  return context;
}

/**
 * What is thrown because the page asks for it. The package handles the end of a worker's engine, wherever it is thrown; the errors of
 * workers are told here all the same, if nothing in the worker caught them: those of a callback of IndexedDB, say.
 */
const ASKED_FOR = { "/trapping/": /RuntimeError: unreachable/ };

/** A page of our server with the package on it, as `T`. Other uncaught errors fail the test. */
export async function openPage(t, context, server, file = "/") {
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => {
    if (!engine.isNotice?.(error) && !ASKED_FOR[file]?.test(String(error))) errors.push(error);
  });
  t.after(() => {
    if (errors.length > 0) throw new Error(`the page threw: ${errors.join("; ")}`);
  });
  await load(page, server, file);
  return page;
}

/** A page of a browser of its own, whose origin has so many bytes of room; and what sets that number, if it can change. */
export async function openLimited(t, server, room, { backend, file } = {}) {
  const context = await startBrowser(t, { backend, room });
  const page = await openPage(t, context, server);
  const limit = await engine.limit?.(context, page, server, room);
  if (file !== undefined) await load(page, server, file);
  return { page, limit };
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

/** A browser without a driver, on `url`. `kill` ends all its processes at once, as a crash of the machine's session would. */
export async function startBare(t, profile, url, backend) {
  const { command, args, env } = await engine.bare(profile, url, backend);
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", openSync(path.join(profile, "stderr.txt"), "a")],
    detached: true,
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    await kill(tree(child.pid));
    await ended;
  };
  t.after(end);
  return { kill: end, ended };
}
