/** The part of this tab among those that share the open instance. */

import { signal } from "@preact/signals";
import type { Database } from "tabstore";

/** The part of this tab: it has the engine, it got the engine while it was open, or another tab has it. */
export type Part = "leads" | "leads now" | "follows";

/** The part. */
export const part = signal<Part>("leads");
/** Rises whenever another tab leads than before. */
export const leadMoved = signal(0);

/** Follows the part of this tab in an instance that was opened now. */
export function watchPart(db: Database): void {
  part.value = db.role === "leader" ? "leads" : "follows";
  db.addEventListener("leader", ({ role }) => {
    part.value = role === "leader" ? "leads now" : "follows";
    leadMoved.value += 1;
  });
}
