/** The open instance: one at a time. The address says which; this makes it so. */

import { signal } from "@preact/signals";
import { type Database, type InstanceKind, open, type OpenOptions, TabStoreError } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { logged } from "./calls.ts";
import { forgetTroubles, hear } from "./health.ts";
import { isMadeHere, noteMade } from "./made-here.ts";
import { openServed, served } from "./served.ts";
import { watchPart } from "./tabs.ts";

/** How to open an instance. */
export interface Wanted {
  readonly name: string;
  readonly storage: "indexeddb" | "memory";
  /** Creates it if there is none. Only a person asks for that: an address does not, because it may be mistyped or old. */
  readonly create?: boolean | undefined;
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
  | { readonly state: "failed"; readonly wanted: Wanted; readonly db: Database; readonly error: TabStoreError };

/** The current state. */
export const session = signal<Session>({ state: "none" });

/** The instances that a person has asked for, by name, each with the kind that was chosen for it. */
const asked = new Map<string, InstanceKind | undefined>();

/** A person wants this instance: the next opening of that name may create it. The address carries neither that nor the kind. */
export function mayCreate(name: string, kind?: InstanceKind): void {
  asked.set(name, kind);
}

/** Whether a person has asked for it, and it has not been opened since. */
export function isAskedFor(name: string): boolean {
  return asked.has(name);
}

/** The instance that an address names, with what a person has asked for. That counts once; an instance in memory is new each time. */
export function wantedAt({ name, storage, clock }: Pick<Wanted, "name" | "storage" | "clock">): Wanted {
  const wanted = { name, storage, clock, create: storage === "memory" || asked.has(name), kind: asked.get(name) };
  if (storage !== "memory") asked.delete(name);
  return wanted;
}

/** How often to look whether another tab has let go. */
const RETRY_MS = 1500;

/** Rises with every change of mind, so that earlier work finds itself outdated. */
let generation = 0;

/**
 * For instances that are made here. They are small, so that with a table of some hundred kilobytes it is seen how the engine flushes,
 * and splits its partitions.
 */
const DEMO = { memtableBytes: 1024 * 1024, partitions: { splitBytes: 256 * 1024, mergeBytes: 64 * 1024, splitOperations: 5000 } };

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** An instance keeps its kind: one of another kind than a person has chosen is closed and refused. */
async function ofKind(db: Database, kind: InstanceKind | undefined): Promise<Database> {
  if (kind === undefined) return db;
  const has = (await db.metrics()).kind;
  if (has === kind) return db;
  await db.close();
  throw new Error(`There is an instance of this name already. It is of the kind ${has}, and keeps it.`);
}

/**
 * Opens an instance as a guest: the options of an application that uses it count. One that exists is opened with the options with which
 * it was made here, else with the package's.
 */
async function asGuest(name: string, { create, lost, ...own }: OpenOptions): Promise<Database> {
  if (own.storage !== "memory" && lost !== "recreate") {
    try {
      return await ofKind(await open(name, { ...own, ...((await isMadeHere(name)) ? DEMO : {}), guest: true, create: false }), own.kind);
    } catch (refusal) {
      if (create !== true || asError(refusal).code !== "OTSObjectNotExist") throw refusal;
    }
  }
  const db = await open(name, { ...own, ...DEMO, ...(lost === undefined ? {} : { lost }), guest: true, create: create === true });
  if (own.storage !== "memory") await noteMade(name);
  return db;
}

/** Opens an instance. Another tab may have moved its clock since; then the engine refuses ours, and this tab shares it as it is. */
async function attempt({ name, storage, create, kind, clock, lost }: Wanted): Promise<Database> {
  if (served !== undefined) {
    if (name.toLowerCase() === served.toLowerCase()) return openServed();
    throw new TabStoreError({ code: "OTSObjectNotExist", status: 404, retryable: false, message: `The server has the instance ${served}.` });
  }
  const own = { storage, integers: "bigint", ...(kind === undefined ? {} : { kind }) } as const;
  const wish = { ...own, create: create === true || lost === "recreate", ...(lost === undefined ? {} : { lost }) };
  if (clock === undefined) return asGuest(name, wish);
  try {
    return await open(name, { ...wish, ...(wish.create || (await isMadeHere(name)) ? DEMO : {}), clock: { now: clock } });
  } catch (refusal) {
    if (asError(refusal).code !== "OTSParameterInvalid") throw refusal;
    const db = await open(name, { ...own, create: false }).catch(() => {
      throw refusal;
    });
    try {
      if (db.role === "leader") throw refusal;
      // This changes nothing. An engine with the device's clock refuses it.
      await db.setClock((await db.metrics()).now);
      return db;
    } catch {
      await db.close();
      throw refusal;
    }
  }
}

function take(db: Database, opened: Wanted): void {
  // It is there now. If it is gone one day, nobody has asked for another one.
  const wanted: Wanted = { ...opened, create: opened.storage === "memory", lost: undefined };
  forgetTroubles();
  watchPart(db);
  db.addEventListener("health", ({ healthy, error }) => {
    if (session.value.state !== "open" || session.value.db !== db) return;
    if (healthy) hear(error);
    else session.value = { state: "failed", wanted, db, error: error ?? asError(new Error("The engine stopped without saying why.")) };
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
  // One that has failed is closed too: else the next opening would join the engine that has ended.
  if (before.state === "open" || before.state === "failed") await before.db.close().catch(() => {});
}

/** The open database; throws when there is none, which a component that shows one never meets. */
export function database(): Database {
  const current = session.value;
  if (current.state !== "open") throw new Error("No instance is open.");
  return current.db;
}
