/** The space of an instance and of its origin. Loaded on first use. */

import { checkArguments } from "../codec/check.js";
import { local } from "../types/errors.js";
import type { StorageInfo } from "../types/storage.js";
import type { Metrics } from "../types/metrics.js";
import { abortReason, SIGNAL, signalOf, unlessAborted } from "../client/signals.js";
import type { CallOptions } from "../types/rows.js";

/** Where a host has no `navigator.storage`, or refuses to answer (sandboxed frames), nothing is known. */
async function asked<T>(ask: (storage: StorageManager) => Promise<T> | undefined): Promise<T | null> {
  try {
    const storage = (globalThis.navigator as Navigator | undefined)?.storage;
    return (storage && (await ask(storage))) ?? null;
  } catch {
    return null;
  }
}

/** The space of an instance itself. */
export const spaceOf = ({ segments, log, reserve }: Metrics): Pick<StorageInfo, "live" | "garbage" | "reserve"> => ({
  live: segments.bytes - segments.garbage + log.bytes,
  garbage: segments.garbage,
  reserve: reserve.bytes,
});

/** The implementation of {@link Database.storage}. */
export async function storage(metrics: Metrics): Promise<StorageInfo> {
  const estimate = await asked((manager) => manager.estimate?.());
  return {
    ...spaceOf(metrics),
    used: estimate?.usage ?? null,
    quota: estimate?.quota ?? null,
    persisted: await asked((manager) => manager.persisted?.()),
  };
}

/** The implementation of {@link Database.persist}. */
export async function persist(options: CallOptions = {}): Promise<boolean> {
  const signal = signalOf(checkArguments(options, SIGNAL, "persist"));
  if (signal?.aborted) throw abortReason(signal);
  const manager = (globalThis.navigator as Navigator | undefined)?.storage;
  if (manager?.persist === undefined) {
    throw local(
      "Unavailable",
      "This host cannot make storage persistent: it has no navigator.storage.persist. Workers have none either: ask in the page, in a secure context.",
    );
  }
  return unlessAborted(manager.persist(), signal);
}
