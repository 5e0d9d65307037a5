/** Requests to the engine's door of the Table Store service (`src/doors/tablestore`), and its responses. */

import { type Access, type DoorRequest, type DoorResponse, readDoorResponse, writeDoorRequest } from "../codec/door.js";
import type { Database } from "../index.js";

export type { Access, DoorRequest, DoorResponse } from "../codec/door.js";

/** The name of the method that passes bytes to the engine and back. All entries know it by this. */
const PASS = Symbol.for("tabstore.tablestore");

/** The database as the door uses it. */
interface Passing {
  [PASS](request: Uint8Array, options?: { readonly signal?: AbortSignal | undefined }): Promise<Uint8Array>;
}

/** The door refuses bodies above 5 MB: more of one need not be passed. */
const BODY = 5 * 1024 * 1024 + 1;

/**
 * Passes one HTTP request of an official Table Store client to the engine, and gives its response. The protocol's errors are responses,
 * too, with a body in the protocol's form. A call rejects only for what is no answer to the request: with `Closed` once the database is
 * closed, and with the signal's reason.
 *
 * `access` says who may pass: `"signed"`, whoever signs with an access key of the instance and a clock within 15 minutes of the store's;
 * `{ secret }`, the key with this secret, whatever the signature is; `"off"`, everybody. Responses are signed in each case, because some
 * clients ask for it: with the secret of the key that the request names, or, if there is no such key, with its id as the secret.
 *
 * The instance is the caller's choice: the door does not compare the header `x-ots-instancename` with a name.
 */
export async function passTableStore(db: Database, access: Access, request: DoorRequest, signal?: AbortSignal): Promise<DoorResponse> {
  return readDoorResponse(await (db as unknown as Passing)[PASS](writeDoorRequest(access, request, BODY), { signal }));
}
