/** The problems of the open instance that do not end it, as they come and go. */

import { signal } from "@preact/signals";
import type { Metrics, TableDescription, TabStoreError } from "tabstore";

import { failedIndexes, isOver, type Trouble } from "../lib/health.ts";

/** Those that were told and are not over. A later one takes the place of an earlier one with the same code. */
export const troubles = signal<readonly Trouble[]>([]);
/** Rises whenever the instance tells of a problem, or of the end of one. */
export const healthChanged = signal(0);

/** The instance has told of a problem; `null`: the building of an index goes on. */
export function hear(error: TabStoreError | null): void {
  if (error !== null) troubles.value = [...troubles.value.filter((one) => one.error.code !== error.code), { error, since: undefined }];
  healthChanged.value += 1;
}

/** Forgets a problem. */
export function dismiss(trouble: Trouble): void {
  troubles.value = troubles.value.filter((one) => one !== trouble);
}

/** Forgets all of them: another instance is open. */
export function forgetTroubles(): void {
  troubles.value = [];
}

/** Forgets what a reading of the engine shows to be over. */
export function settle(reading: Metrics): void {
  const {
    epoch,
    work: { compactions },
  } = reading;
  const before = troubles.peek();
  const left = before.filter((one) => !isOver(one, reading)).map((one) => (one.since?.epoch === epoch ? one : { ...one, since: { epoch, compactions } }));
  if (left.length !== before.length || left.some((one, at) => one !== before[at])) troubles.value = left;
}

/** Leaves to the tables what they tell themselves: an index that could not be built. */
export function leaveToTables(tables: readonly TableDescription[]): void {
  const failed = failedIndexes(tables);
  const before = troubles.peek();
  const left = before.filter(({ error }) => !failed.some(({ failure }) => failure.code === error.code && error.message.endsWith(failure.message)));
  if (left.length !== before.length) troubles.value = left;
}
