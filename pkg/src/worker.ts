/**
 * The worker's side: one engine a worker, and a port for each of its sessions. The page's own port has the first one.
 */

import { toError, toRecord } from "./types/errors.js";
import { type FromWorker, type ModuleName, OPENING, type Opening, type RunningEngine, type ToWorker } from "./host/host.js";
import { answer, serve, Served } from "./host/serve-session.js";
import type { PortLike } from "./host/session.js";
import { openThread } from "./host/thread.js";
import { live } from "./tabs/lock.js";

const page = globalThis as unknown as PortLike;
const tell = (message: FromWorker): void => page.postMessage(message);

let opening: Opening | undefined;
let engine: RunningEngine | undefined;
const first = new Served(page);
let onHub: (port: PortLike | undefined) => void = () => {};

/** Asks the page: a worker can reach the shared worker in no other way. */
const connect = (): Promise<PortLike | undefined> =>
  new Promise((resolve) => {
    onHub = resolve;
    tell({ kind: "hub" });
  });

/** Those who wait for modules from the page. */
const wanted = new Map<ModuleName, { resolve(module: WebAssembly.Module): void; reject(error: unknown): void }>();

function askForModule(name: ModuleName): Promise<WebAssembly.Module> {
  return new Promise((resolve, reject) => {
    wanted.set(name, { resolve, reject });
    tell({ kind: "needs", name });
  });
}

page.onmessage = ({ data }: MessageEvent<ToWorker | Uint8Array>) => {
  if (data instanceof Uint8Array) {
    first.take(data);
    return;
  }
  switch (data.kind) {
    case "open":
      void answer(page, OPENING, async () => {
        const living = live(data.options.client).then((alive) => {
          if (alive) tell({ kind: "alive" });
        });
        opening = openThread(
          data.module,
          data.options,
          {
            module: askForModule,
            onFailure: (error) => tell({ kind: "failed", error: toRecord(error) }),
            onDeath: (error) => tell({ kind: "dead", error: toRecord(error) }),
            onTrouble: (error) => tell({ kind: "trouble", error: error === null ? null : toRecord(error) }),
            // Followers are known by the worker's lock, so it comes first.
            onWaiting: () => void living.then(() => tell({ kind: "waiting" })),
            onClock: (now) => tell({ kind: "clock", now }),
            onYield: () => tell({ kind: "yield" }),
            onLost: () => tell({ kind: "lost" }),
            onReplaced: () => tell({ kind: "replaced" }),
          },
          connect,
        );
        const running = (engine = await opening.engine);
        await first.open((onResponses) => running.session(data.options.client, onResponses, data.options.guest));
        // It comes before the instance's own lock. In memory there is no such lock, so it may come after the engine.
        await living;
      });
      break;
    case "join":
      serve(data.port, engine!, data.client, data.guest);
      break;
    case "hub":
      onHub(data.port);
      break;
    case "inherit":
      opening!.inherit(data.options);
      break;
    case "takeOver":
      opening!.takeOver(data.holder, data.leader);
      break;
    case "close":
      void answer(page, data.id, () => engine!.close());
      break;
    case "module":
      wanted.get(data.name)?.resolve(data.module);
      break;
    case "noModule":
      wanted.get(data.name)?.reject(toError(data.error));
      break;
    default:
      first.take(data);
  }
};
