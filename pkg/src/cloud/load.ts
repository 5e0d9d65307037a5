/** Code of a connection that is loaded on first use. */

import { unreachable } from "./errors.js";

async function load<T>(code: Promise<T>): Promise<T> {
  try {
    return await code;
  } catch (cause) {
    throw unreachable(
      `A part of TabStore could not be loaded: ${String(cause)}.`,
      "It lies beside the file of tabstore/cloud. db.preload() loads it in advance.",
      { cause },
    );
  }
}

/** The code for tables, streams, live queries, batches, counts and transactions. */
export const more = () => load(import("./more.js"));

/** The code for imports and exports. */
export const files = () => load(import("./files.js"));
