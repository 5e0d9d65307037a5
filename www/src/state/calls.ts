/** Every call of the database that the console makes, with what it cost: operation, units, time. */

import { computed, signal } from "@preact/signals";
import type { Consumed, TabStoreError } from "tabstore";

import { asError } from "../lib/ended-call.ts";

/** A call that has ended. */
export interface Call {
  readonly id: number;
  /** When it began. */
  readonly at: number;
  /** As the service names it: `PutRow`. */
  readonly operation: string;
  /** Its subject: a table, a row. */
  readonly subject: string;
  /** Its consumption, for operations that consume [C1]. */
  readonly consumed: Consumed | undefined;
  readonly ms: number;
  /** Why it failed. */
  readonly error: TabStoreError | undefined;
}

const KEPT = 300;

/** The calls, newest first. */
export const calls = signal<readonly Call[]>([]);
/** Units consumed since the page was loaded or the log was cleared. */
export const consumedInAll = signal<Consumed>({ read: 0, write: 0 });
/** The newest call. */
export const lastCall = computed(() => calls.value[0]);

let lastId = 0;

/** Writes a call down that was made elsewhere. */
export function note(call: Omit<Call, "id">): void {
  calls.value = [{ id: ++lastId, ...call }, ...calls.value.slice(0, KEPT - 1)];
  const { consumed } = call;
  if (consumed === undefined) return;
  const { read, write } = consumedInAll.value;
  consumedInAll.value = { read: read + consumed.read, write: write + consumed.write };
}

/** Makes a call and writes it down, also when it fails; the error goes on to the caller. */
export async function logged<T>(operation: string, subject: string, call: () => Promise<T>): Promise<T> {
  const at = Date.now();
  const began = performance.now();
  const end = (consumed: Consumed | undefined, error?: TabStoreError) => note({ at, operation, subject, consumed, ms: performance.now() - began, error });
  try {
    const result = await call();
    end((result as { consumed?: Consumed } | undefined)?.consumed);
    return result;
  } catch (thrown) {
    end(undefined, asError(thrown));
    throw thrown;
  }
}

/** Empties the log. */
export function clearCalls(): void {
  calls.value = [];
  consumedInAll.value = { read: 0, write: 0 };
}
