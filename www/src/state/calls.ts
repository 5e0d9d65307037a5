/** Every call of the database that the console makes, with what it cost: operation, units, time. */

import { computed, signal } from "@preact/signals";
import type { Consumed } from "tabstore";

import { type EndedCall, timed } from "../lib/ended-call.ts";

/** A call that was written down. */
export interface Call extends EndedCall {
  readonly id: number;
}

const KEPT = 300;

/** The calls, newest first. */
export const calls = signal<readonly Call[]>([]);
/** Units consumed since the page was loaded or the log was cleared. */
export const consumedInAll = signal<Consumed>({ read: 0, write: 0 });
/** The newest call. */
export const lastCall = computed(() => calls.value[0]);

let lastId = 0;

/** Writes a call down. */
export function note(call: EndedCall): void {
  calls.value = [{ id: ++lastId, ...call }, ...calls.value.slice(0, KEPT - 1)];
  const { consumed } = call;
  if (consumed === undefined) return;
  const { read, write } = consumedInAll.value;
  consumedInAll.value = { read: read + consumed.read, write: write + consumed.write };
}

/** Makes a call and writes it down, also when it fails; the error goes on to the caller. */
export function logged<T>(operation: string, subject: string, call: () => Promise<T>): Promise<T> {
  return timed(operation, subject, call, note);
}

/** Empties the log. */
export function clearCalls(): void {
  calls.value = [];
  consumedInAll.value = { read: 0, write: 0 };
}
