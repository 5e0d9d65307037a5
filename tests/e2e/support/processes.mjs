// Processes, as /proc tells of them.

import { readdirSync, readFileSync } from "node:fs";

/** The name, the state and the parent of a process; nothing if it has ended. */
function look(pid) {
  try {
    const [, name, rest] = readFileSync(`/proc/${pid}/stat`, "utf8").match(/^\d+ \((.*)\) (.*)$/s);
    const [state, parent] = rest.split(" ");
    return { name, alive: !"ZX".includes(state), parent: Number(parent) };
  } catch {
    return undefined;
  }
}

/** All processes below `pid`, which is one of them; or those of a name. */
export function tree(pid, name) {
  const children = new Map();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = look(entry)?.parent;
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const found = [pid];
  for (const one of found) found.push(...(children.get(one) ?? []));
  return name === undefined ? found : found.filter((one) => look(one)?.name === name);
}

/** Kills processes at once, and waits until they are gone. */
export async function kill(pids) {
  // Stopped first: otherwise a process that has not been killed yet could tidy up.
  for (const signal of ["SIGSTOP", "SIGKILL"]) {
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  while (pids.some((pid) => look(pid)?.alive)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The threads of a process that have this name. */
export const threads = (pid, name) =>
  readdirSync(`/proc/${pid}/task`).filter((thread) => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8").trim() === name;
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });

/** Makes a page whose `process()` is the one of its document: of those that `list` gives, the one that came with it. */
export async function withProcess(make, list) {
  const before = list();
  const page = await make();
  const goto = page.goto.bind(page);
  let pid;
  page.goto = async (...args) => {
    const old = pid === undefined ? before : list();
    const answer = await goto(...args);
    pid = list().find((one) => !old.includes(one)) ?? pid;
    return answer;
  };
  page.process = () => pid;
  return page;
}
