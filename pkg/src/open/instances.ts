/** The instances of this origin: create, list, describe, delete [I1]. They run in the calling thread. */

import { checkArguments, oneOf } from "../codec/check.js";
import { local, toError } from "../types/errors.js";
import type { Glue, InstanceCalls } from "../host/glue.js";
import { engineOf } from "./engines.js";
import { witness } from "../host/witness.js";
import { loadModule, moduleSource } from "../platform/loader.js";
import { PATIENCE, registerWork, settled, within } from "../tabs/lock.js";
import { checkInstanceName, checkKind, checkQuotas, placeInFiles } from "./options.js";
import type { Platform } from "../platform/platform.js";
import { abortReason, signalOf, unlessAborted } from "../client/signals.js";
import type { CreateInstanceOptions, InstanceCallOptions, InstanceDescription } from "../types/rows.js";

const CALL = new Set(["storage", "wasm", "signal"]);
const CREATE = new Set(["kind", "quotas", "wasm", "signal"]);

/** Whether a call is on the instances in files of the origin. */
const isInFiles = ({ storage }: InstanceCallOptions): boolean => oneOf(storage, "storage", ["indexeddb", "files"]) === "files";

async function run<T>(platform: Platform, options: InstanceCallOptions, work: (calls: InstanceCalls) => Promise<unknown>, locked?: string): Promise<T> {
  const signal = signalOf(options);
  if (signal?.aborted) throw abortReason(signal);
  const inFiles = isInFiles(options);
  const answer: Promise<T> = (async () => {
    if (locked !== undefined)
      await unlessAborted(
        settled(locked, () => note!),
        signal,
      );
    const module = inFiles ? undefined : await unlessAborted(loadModule(options.wasm, platform.wasm), signal);
    const { instances } = await unlessAborted(platform.thread(), signal);
    try {
      return (await instances(module, moduleSource(platform.modules), work, locked)) as T;
    } catch (error) {
      throw toError(error);
    }
  })();
  const note = locked === undefined ? undefined : registerWork(locked, answer, true);
  try {
    return await unlessAborted(answer, signal);
  } catch (error) {
    // A caller that gave up may want to open the instance next.
    if (locked !== undefined) await within(answer, PATIENCE);
    throw error;
  }
}

/** The implementation of `listInstances` for all entries. */
export async function listOn(platform: Platform, options: InstanceCallOptions = {}): Promise<InstanceDescription[]> {
  return run(platform, checkArguments(options, CALL, "listInstances"), (calls) => calls.listInstances());
}

/** The implementation of `createInstance` for all entries. */
export async function createOn(platform: Platform, name: string, options: CreateInstanceOptions = {}): Promise<void> {
  checkInstanceName(name);
  const given = checkArguments(options, CREATE, "createInstance");
  const quotas = checkQuotas(given.quotas);
  const kind = checkKind(given.kind);
  await run(platform, given, (calls) => (calls as Glue).createInstance(name, { kind, quotas }));
}

/** The implementation of `describeInstance` for all entries. */
export async function describeOn(platform: Platform, name: string, options: InstanceCallOptions = {}): Promise<InstanceDescription> {
  checkInstanceName(name);
  return run(platform, checkArguments(options, CALL, "describeInstance"), (calls) => calls.describeInstance(name));
}

/** The implementation of `deleteInstance` for all entries. */
export async function deleteOn(platform: Platform, name: string, options: InstanceCallOptions = {}): Promise<void> {
  checkInstanceName(name);
  const given = checkArguments(options, CALL, "deleteInstance");
  const inFiles = isInFiles(given);
  const place = inFiles ? placeInFiles(name) : name;
  // An opening that comes after the deletion must not join an engine that is about to be closed.
  engineOf(place)?.retireIfLeft();
  await run(
    platform,
    given,
    async (calls) => {
      try {
        await calls.deleteInstance(name);
      } catch (error) {
        // What the browser has lost may be deleted too: then it counts as lost no more.
        if (!inFiles && toError(error).code === "OTSObjectNotExist") await witness(name, false);
        throw error;
      }
      if (!inFiles) await witness(name, false);
    },
    place,
  ).catch((error: unknown) => {
    throw toError(error).code === "Busy" && engineOf(place) !== undefined
      ? local("Busy", `The instance '${name}' is open in this page. Close its handles first: await db.close().`)
      : error;
  });
}
