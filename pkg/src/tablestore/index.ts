/**
 * The protocol of Table Store on TabStore, for the official SDKs in a page.
 *
 * This module is the entry `tabstore/tablestore`. It works beside each of the other entries, in followers, and in Node. Requests come as
 * a page has them: {@link tablestoreFetch} is like `fetch`, {@link tablestoreHttpClient} is for the npm package `tablestore`, and
 * {@link serveTablestore} is for a service worker. `npx tabstore serve` has the same over HTTP. The code of the protocol is in the
 * engine; it is loaded on first use.
 *
 * @module
 */

export { tablestoreFetch } from "./fetch.js";
export { tablestoreHttpClient } from "./http-client.js";
export type * from "./types.js";
export { isTablestoreRequest, serveTablestore } from "./worker.js";
