/** Refuses by name what an instance of the service lacks. */

import { lazyGroup, lazyIterator, lazyLive, NONE, UNCOUNTED } from "../changes/lazy.js";
import { loadCode } from "../client/code.js";
import type { Database } from "../types/database.js";

/** Calls that give a promise. */
const REJECTING = [
  "deleteRange",
  "computeStorage",
  "computeConsumed",
  "createAccessKey",
  "listAccessKeys",
  "updateAccessKey",
  "deleteAccessKey",
  "listConsumerGroups",
  "missing",
  "metrics",
  "segments",
  "segment",
  "getStoredRow",
  "getWorkEvents",
  "pauseWork",
  "resumeWork",
  "stepWork",
  "storage",
  "persist",
  "compact",
  "setClock",
] as const;

/** Calls that give something to read later. */
const LATER = ["consumer", "watch", "watchCount", "verify", "workEvents"] as const;

/** The names of what is refused. */
export type Refused = (typeof REJECTING)[number] | (typeof LATER)[number];

const refuse = async (name: Refused): Promise<never> => {
  throw (await loadCode(import("./refused.js"))).refusal(name);
};

const azure = async (): Promise<never> => {
  throw (await loadCode(import("./refused.js"))).azureRefusal();
};

/** What a call that is refused later gives: reading it rejects. */
const later = (name: (typeof LATER)[number]): unknown => {
  const make = () => refuse(name);
  if (name === "consumer") return lazyGroup(make);
  if (name === "watch" || name === "watchCount") return lazyLive<{ readonly error: unknown }, never>(make, name === "watch" ? NONE : UNCOUNTED);
  return lazyIterator(make);
};

/** Adds the refused calls to the class of a database. */
export function addRefused(prototype: object): void {
  const add = (name: string | symbol, value: () => unknown): void => {
    Object.defineProperty(prototype, name, { configurable: true, writable: true, value });
  };
  for (const name of REJECTING) add(name, () => refuse(name));
  for (const name of LATER) add(name, () => later(name));
  // What tabstore/azure asks for.
  for (const name of ["azure", "foreign"]) add(Symbol.for(`tabstore.${name}`), azure);
}

/** The calls that are not refused. */
export type Supported = Omit<Database, Refused>;
