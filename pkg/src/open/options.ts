/** Checks the options with which instances are opened and created. */

import { readClock } from "../host/clock.js";
import * as check from "../codec/arguments.js";
import { checkArguments, oneOf } from "../codec/check.js";
import { prices } from "../codec/contract-arguments.js";
import { kindOf } from "../codec/kinds.js";
import { invalid, local } from "../types/errors.js";
import type { EngineOptions, StorageKind } from "../host/host.js";
import { IN_FILES } from "../tabs/lock.js";
import type { Platform } from "../platform/platform.js";
import { BackOff } from "../client/retry.js";
import type { OpenOptions } from "../types/rows.js";

const throttle = check.object({ unitsPerSecond: check.positive, tableOperationsPerSecond: check.positive });
const partitions = check.object({ splitBytes: check.positive, mergeBytes: check.integer, splitOperations: check.integer });

/** Copies an option that is an object, if it is given. */
const copyOf = (checks: check.Check, value: unknown, option: string): unknown => (value === undefined ? undefined : checks(value, option));

const OPTIONS = new Set([
  "create",
  "guest",
  "salvage",
  "lost",
  "storage",
  "path",
  "worker",
  "durability",
  "cacheBytes",
  "memtableBytes",
  "reserveBytes",
  "kind",
  "quotas",
  "limits",
  "integers",
  "clock",
  "throttle",
  "partitions",
  "prices",
  "retry",
  "wasm",
  "signal",
]);
/** The options of an engine, beside its clock and its place. All its clients share them. */
const SHARED = [
  "salvage",
  "durability",
  "cacheBytes",
  "memtableBytes",
  "reserveBytes",
  "kind",
  "quotas",
  "limits",
  "throttle",
  "partitions",
  "prices",
] as const;
const CLOCK = new Set(["now"]);
const QUOTAS = new Set(["instances", "tables", "reservedThroughput"]);
/** A cache of 2 GiB, four memtables of 256 MiB and the rest fit into the 4 GiB at which WebAssembly memory ends. */
const MOST_CACHE = 2 ** 31;
const MOST_MEMTABLE = 2 ** 28;
const MOST_RESERVE = 2 ** 28;

function flag(value: boolean | undefined, argument: string): boolean | undefined {
  if (value !== undefined && typeof value !== "boolean") throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be true or false.`);
  return value;
}

function integer(value: number | undefined, argument: string, least: number, most?: number): number | undefined {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < least || value > (most ?? value))) {
    throw invalid(
      `The argument '${argument}' is ${typeof value === "number" ? value : kindOf(value)}; it must be an integer of at least ${least}${most === undefined ? "" : ` and at most ${most}`}.`,
    );
  }
  return value;
}

/** Checks the quotas, and leaves out missing ones. */
export function checkQuotas(quotas: object | undefined): Record<string, number> {
  if (quotas === undefined) return Object.create(null) as Record<string, number>;
  const given = checkArguments(quotas as Record<string, number>, QUOTAS, "quotas");
  const checked = Object.entries(given).filter(([name, value]) => integer(value, `quotas.${name}`, 0) !== undefined);
  return Object.assign(Object.create(null) as Record<string, number>, Object.fromEntries(checked));
}

/** Refuses a value that cannot be an instance's name; the engine decides whether the name is legal. */
export function checkInstanceName(name: unknown): asserts name is string {
  if (typeof name !== "string") throw invalid(`The argument 'name' is ${kindOf(name)}; it must be a string.`);
}

/** Checks the kind of an instance. */
export function checkKind(kind: string | undefined): string | undefined {
  return kind === undefined ? undefined : oneOf(kind, "kind", ["high-performance", "capacity"]);
}

/** A unique number of this caller among all callers of the instance. The engine needs randomness too. */
export function newClient(): number {
  if (globalThis.crypto?.getRandomValues === undefined) {
    throw local("Unavailable", "This host has no crypto.getRandomValues, which TabStore needs: take a newer one, or set globalThis.crypto.");
  }
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 4294967296 + low;
}

/** The options of an engine that an opener has given, by their names: those of objects by their paths. */
export type Given = Readonly<Record<string, unknown>>;

/** The checked options of an opening. */
export interface Checked {
  /** For an engine that is opened. */
  readonly engine: EngineOptions;
  readonly clock: (() => number) | undefined;
  readonly worker: boolean;
  readonly given: Given;
  /** The place of the instance: its name, or for one in files a name of its folder. */
  readonly place: string;
  /** For the caller. */
  readonly bigints: boolean;
  readonly backOff: BackOff;
}

/** Adds the values of an option, by their paths. */
function note(path: string, value: unknown, into: Record<string, unknown>): void {
  if (typeof value !== "object" || value === null) {
    if (value !== undefined) into[path] = value;
    return;
  }
  for (const [name, member] of Object.entries(value)) note(`${path}.${name}`, member, into);
}

/**
 * Whether this is a worker of Firefox, where an engine should have no worker of its own: a worker of Firefox that has ended another
 * one may wait for ever when it starts the next.
 */
function isWorkerOfFirefox(): boolean {
  return "WorkerGlobalScope" in globalThis && /\bGecko\/\d/.test(navigator.userAgent);
}

/** The place of an instance in files of the origin. No instance's name has a slash. */
export const placeInFiles = (name: string): string => IN_FILES + name;

/** Checks the folder of the data, and makes it absolute. Browsers have only one. */
function pathOf({ folders }: Platform, storage: StorageKind, path: unknown): string | undefined {
  if (path !== undefined && typeof path !== "string") throw invalid(`The argument 'path' is ${kindOf(path)}; it must be a string.`);
  if (storage !== "files") {
    if (path !== undefined) throw invalid("The argument 'path' is the folder of storage: \"files\", which is not asked for.");
    return undefined;
  }
  if (folders === undefined) {
    if (path !== undefined) throw invalid("The argument 'path' is for Node and Deno.");
    return undefined;
  }
  if (path === undefined || path === "") throw invalid("The argument 'path' is missing: it is the folder in which the instances of storage: \"files\" lie.");
  return folders.absolute(path);
}

/** Checks the options of an opening. */
export function checkOpen(platform: Platform, name: string, given: OpenOptions): Checked {
  const options = checkArguments(given, OPTIONS, "open");
  const { clock } = options;
  let now: number | undefined;
  if (typeof clock === "object" && clock !== null) {
    now = integer(checkArguments(clock, CLOCK, "clock").now, "clock.now", Number.MIN_SAFE_INTEGER);
    if (now === undefined) throw invalid("The argument 'clock' has no 'now'.");
  } else if (clock !== undefined && typeof clock !== "function") {
    throw invalid(`The argument 'clock' is ${kindOf(clock)}; it must be { now } or a function.`);
  }
  const wanted = flag(options.worker, "worker");
  if (typeof clock === "function" && wanted !== false)
    throw invalid("The argument 'clock' is a function, which works only with worker: false; use { now } and setClock.");
  if (wanted === true && platform.worker === undefined)
    throw local("Unavailable", "The argument 'worker' is true, but this host has no workers: open with worker: false.");
  const storage = oneOf(options.storage, "storage", ["indexeddb", "files", "memory"]);
  const path = pathOf(platform, storage, options.path);
  const place = storage !== "files" ? name : placeInFiles(path === undefined ? name : platform.folders!.placeOf(path, name));
  const noted = Object.create(null) as Record<string, unknown>;
  const engine: EngineOptions = {
    name,
    storage,
    path,
    place,
    create: (flag(options.create, "create") ?? true) && options.salvage !== true,
    guest: flag(options.guest, "guest") ?? false,
    salvage: flag(options.salvage, "salvage") ?? false,
    lost: oneOf(options.lost, "lost", ["refuse", "recreate"]),
    kind: checkKind(options.kind),
    durability: oneOf(options.durability, "durability", ["relaxed", "strict"]),
    cacheBytes: integer(options.cacheBytes, "cacheBytes", 0, MOST_CACHE),
    memtableBytes: integer(options.memtableBytes, "memtableBytes", 1, MOST_MEMTABLE),
    reserveBytes: integer(options.reserveBytes, "reserveBytes", 0, MOST_RESERVE),
    clock: typeof clock === "function" ? readClock(clock) : now,
    client: newClient(),
    limits: oneOf(options.limits, "limits", ["document", "sdk"]),
    quotas: checkQuotas(options.quotas),
    throttle: copyOf(throttle, options.throttle, "throttle"),
    partitions: copyOf(partitions, options.partitions, "partitions"),
    prices: copyOf(prices, options.prices, "prices"),
    given: noted,
  };
  for (const option of SHARED) if (options[option] !== undefined) note(option, engine[option], noted);
  delete noted["quotas.instances"];
  if (now !== undefined) noted["clock.now"] = now;
  const own: Record<string, unknown> = { ...noted };
  if (typeof clock === "function") {
    own.clock = clock;
    // Other tabs cannot have it.
    noted.clock = "a function of another tab";
  }
  if (wanted !== undefined) own.worker = wanted;
  return {
    engine,
    // Those of a guest count only for an engine that it opens.
    given: engine.guest ? (engine.salvage ? { salvage: true } : {}) : own,
    place,
    clock: typeof clock === "function" ? clock : undefined,
    worker: wanted ?? (platform.worker !== undefined && !isWorkerOfFirefox()),
    bigints: oneOf(options.integers, "integers", ["auto", "bigint"]) === "bigint",
    backOff: BackOff.from(options.retry),
  };
}
