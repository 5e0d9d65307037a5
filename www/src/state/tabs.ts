/** The tabs that share the open instance: the part of this one, and whether the leading one answers. */

import { signal } from "@preact/signals";
import type { Database } from "tabstore";

/** The part of this tab: it has the engine, it got the engine while it was open, or another tab has it. */
export type Part = "leads" | "leads now" | "follows";

/** The part. */
export const part = signal<Part>("leads");
/** Rises whenever another tab leads than before. */
export const leadMoved = signal(0);
/** Whether an answer of the leading tab is overdue. */
export const leaderSilent = signal(false);

/** An answer that takes longer is overdue. */
const SILENCE_MS = 4000;

/** Follows the part of this tab in an instance that was opened now. */
export function watchPart(db: Database): void {
  part.value = db.role === "leader" ? "leads" : "follows";
  leaderSilent.value = false;
  db.addEventListener("leader", ({ role }) => {
    part.value = role === "leader" ? "leads now" : "follows";
    leadMoved.value += 1;
  });
}

/** Waits for an answer of the engine. While a leading tab owes one, {@link leaderSilent} says so. */
export async function awaited<T>(db: Database, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => { leaderSilent.value = db.role === "follower"; }, SILENCE_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    leaderSilent.value = false;
  }
}
