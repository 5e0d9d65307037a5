/** Opens an instance: joins the engine that this page has for it or starts one, and returns the public interface. */

import { Client } from "../client/client.js";
import { OpenDatabase } from "./database.js";
import { local, toError } from "../types/errors.js";
import { engineOf, PageEngine } from "./engines.js";
import type { EngineEvents, EngineOptions, Opening, RunningEngine } from "../host/host.js";
import { openWorker } from "../host/port.js";
import type { PortLike } from "../host/session.js";
import type { Database } from "../types/database.js";
import { isSplit, loadModule, moduleSource } from "../platform/loader.js";
import { PATIENCE, registerWork, settled, within } from "../tabs/lock.js";
import { type Checked, checkInstanceName, checkOpen } from "./options.js";
import type { Platform } from "../platform/platform.js";
import { abortReason, signalOf, unlessAborted } from "../client/signals.js";
import type { OpenOptions } from "../types/rows.js";

/** The engine, unless its opening is given up first. Then it is closed in order, or cut off if it hangs. */
async function unlessGivenUp(
  opening: Promise<RunningEngine>,
  signal: AbortSignal,
  { waits, cut }: { waits(): boolean; cut(): Promise<void> },
): Promise<RunningEngine> {
  try {
    const engine = await unlessAborted(opening, signal);
    if (!signal.aborted) return engine;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (
    waits() ||
    !(await within(
      opening.then((engine) => engine.close()),
      PATIENCE,
    ))
  )
    await cut();
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

/** Whether an opening may succeed where another was refused: it may create what is missing or lost. */
function maySucceed(own: EngineOptions, other: EngineOptions): boolean {
  return (own.create && !other.create) || (own.lost === "recreate" && other.lost !== "recreate");
}

/** The implementation of `open` for all entries. */
export async function openOn(platform: Platform, name: string, options: OpenOptions = {}): Promise<Database> {
  checkInstanceName(name);
  const checked = checkOpen(platform, name, options);
  const { place } = checked;
  const signal = signalOf(options);
  if (signal?.aborted) throw abortReason(signal);
  if (checked.engine.storage === "memory") return join(platform, engineOn(platform, checked, options, Promise.resolve()), checked, signal);
  const opening = (async (): Promise<Database> => {
    for (;;) {
      const shared = engineOf(place);
      try {
        return await join(
          platform,
          shared ??
            engineOn(
              platform,
              checked,
              options,
              settled(place, () => note),
            ),
          checked,
          signal,
        );
      } catch (error) {
        // An opening of another caller was refused and is over. This caller's may succeed.
        const isOver = shared !== undefined && shared.isOpening && engineOf(place) !== shared;
        if (!isOver || signal?.aborted || !maySucceed(checked.engine, shared.checked.engine)) throw error;
      }
    }
  })();
  const note = registerWork(place, opening, true);
  return opening;
}

/** Opens a handle on an engine. */
async function join(platform: Platform, engine: PageEngine, checked: Checked, signal: AbortSignal | undefined): Promise<Database> {
  const {
    engine: { name, client: number, storage },
    bigints,
    backOff,
    given,
  } = checked;
  const client = new Client(number, bigints, backOff);
  client.guest = checked.engine.guest;
  client.onEnd = onFrameEnd(() => client.fail(local("Closed", "The frame in which the database was opened is gone.")));
  try {
    await engine.join(client, given, signal);
  } catch (error) {
    client.onEnd();
    throw signal?.aborted ? abortReason(signal) : toError(error);
  }
  const db = new OpenDatabase(name, storage, client, (end) => registerWork(checked.place, end, false), platform);
  platform.opened?.(db, async (other, onResponses) => (await engine.opening.engine).session(other, onResponses, false));
  return db;
}

/**
 * Whether a worker of this page will keep the log in files, as far as the page can tell: see host/log-folder.ts. Then the module for
 * files comes beside the core, and not after it.
 */
const keepsLogsInWorker = (): boolean => isSplit && "FileSystemFileHandle" in globalThis && navigator.userAgent.includes("Chrome/");

/** Starts an engine, once `free` says that this page no longer uses the instance. */
function engineOn(platform: Platform, checked: Checked, { wasm }: OpenOptions, free: Promise<void>): PageEngine {
  const { worker, clock } = checked;
  const connect = async (): Promise<PortLike | undefined> => platform.tabs?.().port;
  return new PageEngine(
    checked,
    (options, signal, reports) => {
      const source = moduleSource(platform.modules);
      const onWaiting = (): void => {
        // The next leader needs it, and the network may be gone then.
        source("answers").catch(() => {});
        reports.onWaiting();
      };
      const events: EngineEvents = { ...reports, onWaiting, module: source };
      // Until its code is loaded, an engine holds nothing to release.
      const code = loadModule(wasm, platform.wasm);
      if (worker && options.storage === "indexeddb" && keepsLogsInWorker()) source("files").catch(() => {});
      const module = unlessAborted(
        Promise.all([code, free]).then(([compiled]) => compiled),
        signal,
      );
      let opening: Opening | undefined;
      let running: Promise<RunningEngine>;
      if (worker) {
        opening = openWorker(platform.worker!, module, options, events, connect);
        running = opening.engine;
      } else {
        // The code and the module are loaded side by side.
        running = Promise.all([module, unlessAborted(platform.thread(), signal)]).then(([compiled, { openThread }]) => {
          opening = openThread(compiled, options, events, connect, clock, platform.folders);
          return opening.engine;
        });
      }
      return {
        engine: unlessGivenUp(running, signal, { waits: () => opening?.waits === true, cut: async () => opening?.cut() }),
        inherit: (other) => opening!.inherit(other),
        takeOver: (holder, leader) => opening!.takeOver(holder, leader),
        cut: async () => opening?.cut(),
      };
    },
    connect,
  );
}
