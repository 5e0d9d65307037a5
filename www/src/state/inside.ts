/** The inside of the store, read again and again while somebody looks. */

import { batch, signal } from "@preact/signals";
import type { StoreDescription, WorkEvent } from "tabstore";

import { database, session } from "./session.ts";

/** How often to read. */
const PERIOD_MS = 400;
/** Events kept, as many as the store keeps. */
const KEPT = 500;

/** The newest reading. */
export const store = signal<StoreDescription | undefined>(undefined);
/** What was done in the background, newest first. */
export const workEvents = signal<readonly WorkEvent[]>([]);
/** Why it cannot be read. */
export const insideError = signal<unknown>(undefined);

let position = 0;

/** Reads now. */
export async function readInside(): Promise<void> {
  if (session.peek().state !== "open") return;
  const db = database();
  try {
    const [read, told] = await Promise.all([db.segments(), db.getWorkEvents({ position })]);
    const current = session.peek();
    if (current.state !== "open" || current.db !== db) return;
    batch(() => {
      // A new engine counts from 1 again.
      if (told.position < position) workEvents.value = [];
      const last = workEvents.peek()[0]?.position ?? 0;
      const fresh = told.events.filter((event) => event.position > last);
      if (fresh.length > 0) workEvents.value = [...fresh.reverse(), ...workEvents.peek()].slice(0, KEPT);
      position = told.position;
      store.value = read;
      insideError.value = undefined;
    });
  } catch (error) {
    insideError.value = error;
  }
}

/** Reads while the page is visible, until the returned function is called. */
export function watchInside(): () => void {
  position = 0;
  store.value = undefined;
  workEvents.value = [];
  let timer = 0;
  let stopped = false;
  const turn = async (): Promise<void> => {
    if (!document.hidden) await readInside();
    if (!stopped) timer = window.setTimeout(() => void turn(), PERIOD_MS);
  };
  void turn();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
