/** The differences between the entries of the package: the place of its other files, and the way to load their code. */

import type { HostFolders } from "../host/folder.js";
import type { EngineHost, ModuleName, OnResponses } from "../host/host.js";
import type { WorkerLike } from "../host/port.js";
import type { PortLike } from "../host/session.js";
import type { Database } from "../types/database.js";
import type { WasmSource } from "../types/rows.js";

/**
 * The module of an entry of the package.
 *
 * @internal
 */
export type DefaultSource = () => WasmSource | Promise<WasmSource>;

/** Opens a session of an engine for a client, whose number it gets first. */
export type OpenSession = (client: number, onResponses: OnResponses) => Promise<EngineHost>;

/** The environment of an entry. */
export interface Platform {
  /** The WebAssembly module of the package. */
  readonly wasm: DefaultSource;
  /** The modules of the engine that are loaded on first use. */
  readonly modules: Readonly<Record<ModuleName, DefaultSource>>;
  /** Starts the package's worker; absent if the host has no workers. */
  readonly worker: (() => WorkerLike) | undefined;
  /** Connects to the package's shared worker, which introduces tabs; absent if the host has none. */
  readonly tabs: (() => { readonly port: PortLike }) | undefined;
  /** Gives folders of instances in files; absent if the host has none. */
  readonly folders?: HostFolders;
  /** Hears of each opened instance, with what opens another session of its engine. Only a host that serves them has it. */
  readonly opened?: (db: Database, session: OpenSession) => void;
  /** Loads the code that runs the engine in this thread. */
  readonly thread: () => Promise<typeof import("../host/thread.js")>;
}
