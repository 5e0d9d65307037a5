/** Code of the package that is loaded on first use, and what to do where it cannot be loaded. */

import { local } from "../types/errors.js";

/** The hint for files of the package that cannot be loaded. */
export const LOAD_HELP =
  "If your bundler or server does not ship the package's files, import 'tabstore/inline' instead of 'tabstore'" +
  " (all in one file), or say where they are: init(url, modules), open(name, { worker: false }).";

/** The hint for files that no network brings. */
export const OFFLINE_HELP = "Code that was never used needs the network: db.preload() loads it in advance.";

/** A part of the package, which is being loaded. */
export async function loadCode<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (cause) {
    // Browsers allow them no `import()`.
    if ("ServiceWorkerGlobalScope" in globalThis) {
      throw local("Unavailable", "A service worker can load no code after its start, and the entry 'tabstore' does that.", {
        cause,
        hint: "Import 'tabstore/inline' in the service worker.",
      });
    }
    throw local(
      "Unavailable",
      `A part of TabStore could not be loaded: ${String(cause)}. ${globalThis.navigator?.onLine === false ? OFFLINE_HELP : LOAD_HELP}`,
      { cause },
    );
  }
}

/** Loads something once: browsers take milliseconds to repeat an `import()`. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      // The network may work the next time.
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
