/** Opens an instance: checks the options, starts an engine, and returns the public interface to it. */

import { checkPartitions, checkPrices, checkThrottle } from "./arguments.js";
import { Client } from "./client.js";
import { readClock } from "./clock.js";
import { checkArguments } from "./codec/check.js";
import { kindOf, shown } from "./codec/kinds.js";
import { OpenDatabase } from "./database.js";
import { invalid, local, toError } from "./errors.js";
import type { EngineHost, EngineOptions, Opening } from "./host/host.js";
import { openWorker } from "./host/port.js";
import type { Database } from "./interface.js";
import { loadModule } from "./loader.js";
import { follow, PATIENCE, settled, within } from "./lock.js";
import { BackOff } from "./retry.js";
import type { Platform } from "./platform/platform.js";
import { abortReason, signalOf, unlessAborted } from "./signals.js";
import type { OpenOptions } from "./types.js";

const OPTIONS = new Set(["create", "salvage", "storage", "worker", "durability", "cacheBytes", "memtableBytes", "reserveBytes", "kind", "quotas", "limits", "integers", "clock", "throttle", "partitions", "prices", "retry", "wasm", "signal"]);
const CLOCK = new Set(["now"]);
const QUOTAS = new Set(["instances", "tables", "reservedThroughput"]);
/** A cache of 2 GiB, four memtables of 256 MiB and the rest fit into the 4 GiB at which WebAssembly memory ends. */
const MOST_CACHE = 2 ** 31;
const MOST_MEMTABLE = 2 ** 28;
const MOST_RESERVE = 2 ** 28;

function oneOf<T extends string>(value: T | undefined, argument: string, known: readonly T[]): T {
  if (value === undefined) return known[0];
  if (!known.includes(value)) throw invalid(`The argument '${argument}' is ${shown(value)}; it must be one of ${known.join(", ")}.`);
  return value;
}

function flag(value: boolean | undefined, argument: string): boolean | undefined {
  if (value !== undefined && typeof value !== "boolean") throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be true or false.`);
  return value;
}

function integer(value: number | undefined, argument: string, least: number, most?: number): number | undefined {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < least || value > (most ?? value))) {
    throw invalid(`The argument '${argument}' is ${typeof value === "number" ? value : kindOf(value)}; it must be an integer of at least ${least}${most === undefined ? "" : ` and at most ${most}`}.`);
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
function newClient(): number {
  if (globalThis.crypto?.getRandomValues === undefined) {
    throw local("Unavailable", "This host has no crypto.getRandomValues, which TabStore needs: take a newer one, or set globalThis.crypto.");
  }
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 4294967296 + low;
}

interface Checked {
  readonly engine: EngineOptions;
  readonly clock: (() => number) | undefined;
  readonly worker: boolean;
}

function check(platform: Platform, name: string, options: OpenOptions): Checked {
  const { clock } = options;
  let now: number | undefined;
  if (typeof clock === "object" && clock !== null) {
    now = integer(checkArguments(clock, CLOCK, "clock").now, "clock.now", Number.MIN_SAFE_INTEGER);
    if (now === undefined) throw invalid("The argument 'clock' has no 'now'.");
  } else if (clock !== undefined && typeof clock !== "function") {
    throw invalid(`The argument 'clock' is ${kindOf(clock)}; it must be { now } or a function.`);
  }
  const wanted = flag(options.worker, "worker");
  if (typeof clock === "function" && wanted !== false) throw invalid("The argument 'clock' is a function, which works only with worker: false; use { now } and setClock.");
  if (wanted === true && platform.worker === undefined) throw local("Unavailable", "The argument 'worker' is true, but this host has no workers: open with worker: false.");
  return {
    engine: {
      name,
      storage: oneOf(options.storage, "storage", ["indexeddb", "memory"]),
      create: (flag(options.create, "create") ?? true) && options.salvage !== true,
      salvage: flag(options.salvage, "salvage") ?? false,
      kind: checkKind(options.kind),
      durability: oneOf(options.durability, "durability", ["relaxed", "strict"]),
      cacheBytes: integer(options.cacheBytes, "cacheBytes", 0, MOST_CACHE),
      memtableBytes: integer(options.memtableBytes, "memtableBytes", 1, MOST_MEMTABLE),
      reserveBytes: integer(options.reserveBytes, "reserveBytes", 0, MOST_RESERVE),
      clock: typeof clock === "function" ? readClock(clock) : now,
      client: newClient(),
      limits: oneOf(options.limits, "limits", ["document", "sdk"]),
      quotas: checkQuotas(options.quotas),
      throttle: checkThrottle(options.throttle),
      partitions: checkPartitions(options.partitions),
      prices: checkPrices(options.prices),
    },
    clock: typeof clock === "function" ? clock : undefined,
    worker: wanted ?? platform.worker !== undefined,
  };
}

/** The engine, unless the caller gives up first. Then it is closed in order, or cut off if it hangs. */
async function unlessGivenUp(opening: Promise<EngineHost>, signal: AbortSignal, cut: () => Promise<void>): Promise<EngineHost> {
  try {
    const host = await unlessAborted(opening, signal);
    if (!signal.aborted) return host;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (!(await within(opening.then((host) => host.close()), PATIENCE))) await cut();
  throw abortReason(signal);
}

/** Calls `run` when this frame is removed or navigates while the page around it lives on. Returns a function that ends this. */
function onFrameEnd(run: () => void): () => void {
  if (globalThis.window === undefined || window === window.top) return () => {};
  const hidden = ({ persisted }: PageTransitionEvent): void => {
    if (!persisted) run();
  };
  addEventListener("pagehide", hidden);
  return () => removeEventListener("pagehide", hidden);
}

/** The implementation of `open` for all entries. */
export async function openOn(platform: Platform, name: string, options: OpenOptions = {}): Promise<Database> {
  checkInstanceName(name);
  options = checkArguments(options, OPTIONS, "open");
  const checked = check(platform, name, options);
  const signal = signalOf(options);
  if (signal?.aborted) throw abortReason(signal);
  if (checked.engine.storage === "memory") return start(platform, checked, options, signal, Promise.resolve());
  const opening: Promise<Database> = start(platform, checked, options, signal, settled(name, () => note));
  const note = follow(name, opening, true);
  return opening;
}

/** Starts the engine, once `free` says that this page no longer uses the instance. */
async function start(platform: Platform, checked: Checked, options: OpenOptions, signal: AbortSignal | undefined, free: Promise<void>): Promise<Database> {
  const { engine } = checked;
  const client = new Client(engine.client, oneOf(options.integers, "integers", ["auto", "bigint"]) === "bigint", BackOff.from(options.retry));
  client.laxNames = engine.limits === "sdk";
  const events = { onResponses: client.receive, onFailure: (error: unknown) => client.fail(toError(error)), onTrouble: (error: unknown) => client.trouble(error === null ? null : toError(error)) };
  // Until its code is loaded, an engine holds nothing to release.
  const code = loadModule(options.wasm, platform.wasm);
  const module = unlessAborted(Promise.all([code, free]).then(([compiled]) => compiled), signal);
  let opening: Opening;
  let host: Promise<EngineHost>;
  if (checked.worker) {
    opening = openWorker(platform.worker!, module, engine, events);
    ({ host } = opening);
  } else {
    // The code and the module are loaded side by side.
    host = Promise.all([module, unlessAborted(platform.thread(), signal)]).then(([compiled, { openThread }]) => {
      opening = openThread(compiled, engine, events, checked.clock);
      return opening.host;
    });
  }
  client.onEnd = onFrameEnd(() => client.fail(local("Closed", "The frame in which the database was opened is gone.")));
  try {
    client.attach(await client.waiting.unlessFailed(signal === undefined ? host : unlessGivenUp(host, signal, () => opening.cut())));
    if (client.closedBy !== undefined) throw client.closedBy;
  } catch (error) {
    client.onEnd();
    throw signal?.aborted ? abortReason(signal) : toError(error);
  }
  return new OpenDatabase(engine.name, engine.storage, client, (end) => follow(engine.name, end, false));
}
