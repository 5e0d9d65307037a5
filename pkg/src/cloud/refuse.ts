/** Refuses by name what an instance of the service lacks. */

import { lazyIterator } from "../changes/lazy.js";
import type { Database } from "../types/database.js";
import { more } from "./load.js";

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
const LATER = ["consumer", "verify", "workEvents"] as const;

/** The names of what is refused. */
export type Refused = (typeof REJECTING)[number] | (typeof LATER)[number];

const refuse = async (name: Refused): Promise<never> => {
  throw (await more()).refusal(name);
};

const azure = async (): Promise<never> => {
  throw (await more()).azureRefusal();
};

/** What a call that is refused later gives, a consumer group or an iterator: all that can be done with it fails. */
function later(name: (typeof LATER)[number]): object {
  const fail = () => refuse(name);
  return { ...lazyIterator(fail), describe: fail, delete: fail };
}

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
