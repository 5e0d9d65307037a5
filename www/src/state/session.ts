/** The open instance: one at a time. The address says which; this makes it so. */

import { signal } from "@preact/signals";
import { type Database, type InstanceKind, open, type TabStoreError } from "tabstore";

import { asError, logged } from "./calls.ts";
import { forgetTroubles, hear } from "./health.ts";
import { watchPart } from "./tabs.ts";

/** How to open an instance. */
export interface Wanted {
  readonly name: string;
  readonly storage: "indexeddb" | "memory";
  /** The kind of a new instance. */
  readonly kind?: InstanceKind | undefined;
  /** An injected clock, milliseconds since 1970. */
  readonly clock?: number | undefined;
  /** Begins anew if the browser has lost it. */
  readonly lost?: "recreate" | undefined;
}

/** The state of the console: what is open, or the reason for nothing. */
export type Session =
  | { readonly state: "none" }
  | { readonly state: "opening"; readonly wanted: Wanted }
  | { readonly state: "refused"; readonly wanted: Wanted; readonly error: TabStoreError }
  | { readonly state: "open"; readonly wanted: Wanted; readonly db: Database }
  /** The engine or its storage failed while the instance was open. */
  | { readonly state: "failed"; readonly wanted: Wanted; readonly error: TabStoreError };

/** The current state. */
export const session = signal<Session>({ state: "none" });

/** Kinds chosen for instances about to be created: the address does not carry them, because an instance keeps its kind. */
export const newKinds = new Map<string, InstanceKind>();

/** How often to look whether another tab has let go. */
const RETRY_MS = 1500;

/** Rises with every change of mind, so that earlier work finds itself outdated. */
let generation = 0;

/** Small, so that with a table of some hundred kilobytes it is seen how the engine flushes, and splits its partitions. */
const DEMO = { memtableBytes: 1024 * 1024, partitions: { splitBytes: 256 * 1024, mergeBytes: 64 * 1024, splitOperations: 5000 } };

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * Opens an instance. Another tab may have it open with other options, or has moved its clock since; then the engine refuses
 * ours, and this tab shares it as it is.
 */
async function attempt({ name, storage, kind, clock, lost }: Wanted): Promise<Database> {
  const own = { storage, integers: "bigint", ...(kind === undefined ? {} : { kind }) } as const;
  try {
    return await open(name, { ...own, ...DEMO, ...(clock === undefined ? {} : { clock: { now: clock } }), ...(lost === undefined ? {} : { lost }) });
  } catch (refusal) {
    if (asError(refusal).code !== "OTSParameterInvalid") throw refusal;
    const db = await open(name, { ...own, create: false }).catch(() => { throw refusal; });
    try {
      if (db.role === "leader") throw refusal;
      // This changes nothing. An engine with the device's clock refuses it.
      if (clock !== undefined) await db.setClock((await db.metrics()).now);
      return db;
    } catch {
      await db.close();
      throw refusal;
    }
  }
}

function take(db: Database, wanted: Wanted): void {
  forgetTroubles();
  watchPart(db);
  db.addEventListener("health", ({ healthy, error }) => {
    if (session.value.state !== "open" || session.value.db !== db) return;
    if (healthy) hear(error);
    else session.value = { state: "failed", wanted, error: error ?? asError(new Error("The engine stopped without saying why.")) };
  });
  session.value = { state: "open", wanted, db };
}

/**
 * Opens an instance in place of the one that is open. While another tab keeps it to itself the console says so, keeps
 * looking, and opens it as soon as it can.
 */
export async function openInstance(wanted: Wanted): Promise<void> {
  await closeInstance();
  const mine = ++generation;
  session.value = { state: "opening", wanted };
  for (let tries = 0; mine === generation; tries++) {
    try {
      const opening = () => attempt(wanted);
      const db = await (tries === 0 ? logged("Open", wanted.name, opening) : opening());
      if (mine === generation) take(db, wanted);
      else await db.close();
      return;
    } catch (thrown) {
      const error = asError(thrown);
      if (mine !== generation) return;
      session.value = { state: "refused", wanted, error };
      if (error.code !== "Busy") return;
      await pause(RETRY_MS);
    }
  }
}

/** Closes what is open, or gives up what is being opened. */
export async function closeInstance(): Promise<void> {
  generation += 1;
  const before = session.value;
  session.value = { state: "none" };
  if (before.state === "open") await before.db.close().catch(() => {});
}

/** The open database; throws when there is none, which a component that shows one never meets. */
export function database(): Database {
  const current = session.value;
  if (current.state !== "open") throw new Error("No instance is open.");
  return current.db;
}
