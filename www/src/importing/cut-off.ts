/** The trace that an import leaves while it runs, so that a reload of the page is not taken for its end. */

import { signal } from "@preact/signals";

/** An import that has begun and not ended. */
export interface CutOff {
  readonly instance: string;
  readonly tableName: string;
  readonly source: string;
  /** Rows that were stored when the trace was written last. */
  readonly rows: number;
}

const NAME = "tabstore-import";

/** Reads what an import of this tab has left; nonsense counts as nothing. */
export function parseCutOff(said: string | null): CutOff | undefined {
  try {
    const { instance, tableName, source, rows } = JSON.parse(said ?? "null") as Record<string, unknown>;
    if (typeof instance !== "string" || typeof tableName !== "string" || typeof source !== "string" || typeof rows !== "number") return undefined;
    return { instance, tableName, source, rows };
  } catch {
    return undefined;
  }
}

/** The session storage, where the browser has one. */
function store(): Storage | undefined {
  try {
    return globalThis.sessionStorage;
  } catch {
    return undefined;
  }
}

/** The import that the page was left in; this tab's own. */
export const cutOff = signal<CutOff | undefined>(parseCutOff(store()?.getItem(NAME) ?? null));

/** Leaves a trace, or writes it anew. Nobody has to be told that it failed: it is only for the case that the page goes. */
export function leaveTrace(trace: CutOff): void {
  try {
    store()?.setItem(NAME, JSON.stringify(trace));
  } catch {
    // The storage is full or closed.
  }
}

/** Takes the trace away: the import has ended, or a person has read of it. */
export function forgetCutOff(): void {
  cutOff.value = undefined;
  store()?.removeItem(NAME);
}
