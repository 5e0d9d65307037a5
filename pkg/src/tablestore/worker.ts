/** A service worker that answers the calls of SDKs in its pages. */

import type { Database } from "../index.js";
import { tablestoreFetch } from "./fetch.js";
import type { FetchFunction, TablestoreDoorOptions } from "./types.js";

/** An event of a service worker, as far as it is used: `lib.dom.d.ts` does not have them. */
interface FetchEventLike {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** An event that a service worker may prolong. */
interface ProlongedEvent {
  waitUntil(work: Promise<unknown>): void;
}

/** The globals of a service worker that are used. */
interface ServiceWorkerGlobals {
  readonly location: { readonly origin: string };
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(kind: "fetch", listener: (event: FetchEventLike) => void): void;
  addEventListener(kind: "install" | "activate", listener: (event: ProlongedEvent) => void): void;
}

/** Whether a request is a call of a Table Store SDK: a POST to a path of one name, with the header of its API's version. */
export function isTablestoreRequest(request: Request): boolean {
  return request.method === "POST" && request.headers.has("x-ots-apiversion") && /^\/[A-Za-z]+$/.test(new URL(request.url).pathname);
}

/**
 * Makes a service worker answer the calls of Table Store SDKs to its own origin, from the database that `open` gives. The pages'
 * endpoint is their `location.origin`. All other requests go where they went before. Call it while the worker's script runs, and
 * not later: browsers take listeners at no other time.
 *
 * `open` is called for the first call, and again after the database was closed or could not be opened. A new worker takes over at
 * once, also from pages that were there before it.
 *
 * @throws `TypeError` outside of a service worker.
 * @example
 * ```ts
 * // sw.ts, which the page registers: navigator.serviceWorker.register("/sw.js", { type: "module" })
 * import { open } from "tabstore";
 * import { serveTablestore } from "tabstore/tablestore";
 *
 * serveTablestore(() => open("demo"), { auth: "off" });
 * ```
 */
export function serveTablestore(open: () => Promise<Database>, options?: TablestoreDoorOptions): void {
  const scope = globalThis as unknown as Partial<ServiceWorkerGlobals>;
  if (typeof scope.skipWaiting !== "function") throw new TypeError("serveTablestore() is for the script of a service worker.");
  const worker = scope as ServiceWorkerGlobals;
  let opened: Promise<FetchFunction> | undefined;
  const answer = async (request: Request): Promise<Response> => {
    const mine = (opened ??= open().then((db) => tablestoreFetch(db, options)));
    try {
      return await (await mine)(request);
    } catch (error) {
      // The next call opens again. One that began with this database has no part in it.
      if (opened === mine) opened = undefined;
      throw error;
    }
  };
  worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
  worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
  worker.addEventListener("fetch", (event) => {
    const { request } = event;
    if (new URL(request.url).origin === worker.location.origin && isTablestoreRequest(request)) event.respondWith(answer(request));
  });
}
