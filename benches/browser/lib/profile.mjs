// Shows where the time of a worker goes: a CPU profile for each workload, by the DevTools protocol.

import { writeFileSync } from "node:fs";
import path from "node:path";

/** Functions shown of each workload. */
const SHOWN = 32;

/** Profiles the first worker that a page starts. */
export class Profiler {
  #session;
  #folder;
  #worker;
  #calls = new Map();
  #lastCall = 0;
  #reports = [];

  /** Listens for workers of `page`. */
  static async attach(context, page, folder) {
    const me = new Profiler();
    me.#folder = folder;
    me.#session = await context.newCDPSession(page);
    me.#session.on("Target.attachedToTarget", ({ sessionId, targetInfo }) => {
      if (targetInfo.type === "worker") me.#worker = sessionId;
    });
    me.#session.on("Target.receivedMessageFromTarget", ({ message }) => {
      const { id, result, error } = JSON.parse(message);
      const call = me.#calls.get(id);
      me.#calls.delete(id);
      if (error) call?.reject(new Error(error.message));
      else call?.resolve(result);
    });
    await me.#session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
    return me;
  }

  /** A command to the worker. */
  #send(method, params = {}) {
    const id = ++this.#lastCall;
    const answer = new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
    this.#session.send("Target.sendMessageToTarget", { sessionId: this.#worker, message: JSON.stringify({ id, method, params }) });
    return answer;
  }

  async start() {
    await this.#send("Profiler.enable");
    await this.#send("Profiler.setSamplingInterval", { interval: 100 });
    await this.#send("Profiler.start");
  }

  async stop(workload, { ms, operations }) {
    const { profile } = await this.#send("Profiler.stop");
    writeFileSync(path.join(this.#folder, `${workload}.cpuprofile`), JSON.stringify(profile));
    this.#reports.push({ workload, ms, operations, profile });
  }

  report() {
    for (const { workload, ms, operations, profile } of this.#reports) {
      console.log(
        `\n${workload}: ${ms.toFixed(1)} ms, ${((ms * 1000) / operations).toFixed(2)} us an operation; self and total time by function, us an operation`,
      );
      console.log(summary(profile, operations));
    }
  }
}

function nameOf({ functionName, url, lineNumber }) {
  const file = url.split("/").pop().split("?")[0];
  return `${functionName || "(anonymous)"}${file ? `  ${file}${file.endsWith(".wasm") || url.startsWith("wasm") ? "" : `:${lineNumber + 1}`}` : ""}`;
}

/**
 * The functions with most time between the last two calls of `profileMark`: the rest is preparation and checking. Total
 * time counts a function once however deep it calls itself.
 */
function summary(profile, operations) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map();
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node.id);
  const isMark = (id) => id !== undefined && (nodes.get(id).callFrame.functionName === "profileMark" || isMark(parents.get(id)));
  const marks = profile.samples.map(isMark);
  const last = marks.lastIndexOf(true);
  let end = last;
  while (marks[end - 1]) end--;
  const begin = marks.lastIndexOf(true, end - 1) + 1;
  const self = new Map();
  const total = new Map();
  profile.samples.forEach((id, i) => {
    if (i < begin || i >= end) return;
    const time = profile.timeDeltas[i];
    const seen = new Set();
    for (let at = id, first = true; at !== undefined; at = parents.get(at), first = false) {
      const name = nameOf(nodes.get(at).callFrame);
      if (first) self.set(name, (self.get(name) ?? 0) + time);
      if (seen.has(name)) continue;
      seen.add(name);
      total.set(name, (total.get(name) ?? 0) + time);
    }
  });
  const line = ([name, time]) => `  ${(time / operations).toFixed(3).padStart(9)} ${((total.get(name) ?? 0) / operations).toFixed(3).padStart(9)}  ${name}`;
  return [...self]
    .sort((a, b) => b[1] - a[1])
    .slice(0, SHOWN)
    .map(line)
    .join("\n");
}
