/** A way to the engine's own door of the service, for connections in this process. */

import type { Fetch } from "../../src/cloud/types.js";
import type { Database } from "../../src/index.js";
import { tablestoreFetch } from "../../src/tablestore/index.js";

/** Any key passes a door without access keys; it signs its answers with the id of the key as its secret. */
export const DOOR_KEY = { accessKeyId: "testid", accessKeySecret: "testid" };

/** What `connect` takes as its `fetch`: requests go to the door of an instance, without a network. */
export const doorFetch = (db: Database): Fetch => tablestoreFetch(db, { auth: "off" });
