/**
 * The worker in which a program runs, beside the page: a program that never ends holds this thread alone. The policy of the page does not
 * count here, because a worker from a file has that of its own response. So the page needs no `unsafe-eval`.
 */

import * as tabstore from "tabstore";

import type { EndedCall } from "../lib/ended-call.ts";
import { type Entry, LOADER } from "../lib/program-entries.ts";
import { logText, valueText } from "../lib/shown-value.ts";
import { openServed } from "../state/served.ts";
import { placeOf, watched } from "./calls.ts";
import { FILE, failureOf, stackLine } from "./failures.ts";
import type { FromWorker, Level, MadeCall, Target, ToWorker } from "./messages.ts";
import { Outlet } from "./outlet.ts";

/** Says something to the page, by a port that programs do not have. */
let post: (message: FromWorker) => void = () => {};

// Of a call from deep inside the program its own lines are still there, below those of the package. Only Chromium knows the limit.
Object.assign(Error, { stackTraceLimit: 50 });

// Nobody hears what a program posts by itself, and a loop of it would drown the page in messages.
Object.assign(globalThis, { postMessage: () => {} });

const outlet = new Outlet((lines, leftOut) => post({ kind: "said", lines, leftOut }));

let calls: MadeCall[] = [];
/** How often calls are told of, in ms. */
const CALLS_MS = 100;

function noteCall({ error, ...call }: EndedCall): void {
  if (calls.length === 0) setTimeout(sendCalls, CALLS_MS);
  calls.push({ ...call, error: error && { code: error.code, message: error.message } });
}

function sendCalls(): void {
  if (calls.length > 0) post({ kind: "calls", calls });
  calls = [];
}

const LEVELS: Readonly<Record<string, Level>> = { log: "log", info: "log", debug: "log", table: "log", dir: "log", warn: "warn", error: "error" };

for (const [name, level] of Object.entries(LEVELS)) {
  Object.assign(console, { [name]: (...given: unknown[]) => outlet.say({ level, text: logText(given) }) });
}

type Made = (...given: unknown[]) => Promise<unknown>;
/** The constructor of async functions, which has no name. */
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Made;

const ENTRIES: Readonly<Record<Entry, () => Promise<object>>> = {
  tabstore: async () => entry,
  "tabstore/remote": () => import("tabstore/remote"),
  "tabstore/schema": () => import("tabstore/schema"),
  "tabstore/timeline": () => import("tabstore/timeline"),
};

/** The package as programs see it: what they open are guests too, so that the options of the application count. */
const entry = {
  ...tabstore,
  open: async (name: string, options?: tabstore.OpenOptions) => watched(await tabstore.open(name, { guest: true, ...options }), noteCall),
};

/** Makes the function. What the package exports is there without an import. */
function made(body: string): { readonly run: Made; readonly given: readonly unknown[] } {
  const names = Object.keys(entry);
  const run = new AsyncFunction("db", LOADER, ...names, `${body}\n//# sourceURL=${FILE}`);
  return { run, given: names.map((name) => (entry as Record<string, unknown>)[name]) };
}

/** The lines that this browser counts before the first one of a body. */
async function linesBefore(): Promise<number> {
  let where: Made;
  try {
    where = new AsyncFunction(`return new Error("where").stack\n//# sourceURL=${FILE}`);
  } catch {
    throw new Error("The policy that this site's server sends forbids programs from text. For the files of the console it needs script-src 'unsafe-eval'.");
  }
  const stack = await where();
  return (stackLine(String(stack)) ?? 1) - 1;
}

let before = 0;

function fail(error: unknown, isEnd: boolean): void {
  outlet.flush();
  sendCalls();
  post({ kind: "failed", failure: failureOf(error, before, placeOf(error)), isEnd });
}

/** The database of a program. */
async function opened(target: Target): Promise<tabstore.Database> {
  if (typeof target === "string") return entry.open(target, { create: false });
  return watched(await openServed(target), noteCall);
}

async function run(target: Target, body: string): Promise<void> {
  try {
    before = await linesBefore();
    const { run: start, given } = made(body);
    const db = await opened(target);
    post({ kind: "begun" });
    const began = performance.now();
    const value = await start(db, (name: Entry) => ENTRIES[name](), ...given);
    if (value !== undefined) outlet.say({ level: "value", text: valueText(value) });
    outlet.flush();
    sendCalls();
    post({ kind: "done", ms: performance.now() - began });
  } catch (error) {
    fail(error, true);
  }
}

function listen(port: MessagePort): void {
  // A program may change whatever is global.
  post = port.postMessage.bind(port);
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.kind === "ping") post({ kind: "pong" });
    else void run(data.target, data.body);
  };
  post({ kind: "ready" });
}

addEventListener("message", ({ ports: [port] }) => port && listen(port), { once: true });
// Of what the program does not await.
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fail(event.reason, false);
});
addEventListener("error", (event) => {
  event.preventDefault();
  fail(event.error, false);
});
