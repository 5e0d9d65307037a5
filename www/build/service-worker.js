// The console's service worker: keeps its files, so that it opens without a network after the first visit. The build puts two constants
// before this: VERSION, a digest of all files, and FILES, their addresses.
/* global VERSION, FILES */

const PREFIX = `tabstore-console ${registration.scope} `;
const NAME = PREFIX + VERSION;
const PAGE = new URL("./", registration.scope).href;

addEventListener("install", (event) => {
  // A file that another cache of the browser has may be of an earlier build.
  const requests = FILES.map((file) => new Request(new URL(file, registration.scope), { cache: "reload" }));
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(requests)));
});

addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith(PREFIX) && name !== NAME;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))));
});

/** The network first: another program may serve this address one day. Without a network, what is kept. */
async function page(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(PAGE, { cacheName: NAME });
    if (kept === undefined) throw error;
    return kept;
  }
}

/** Names of assets have a digest, so a kept one is right. A data set may be asked for with a new text at its old address. */
async function file(request) {
  const isAsset = request.url.startsWith(`${PAGE}assets/`);
  const kept = await caches.match(request, { cacheName: NAME });
  if (isAsset && kept !== undefined) return kept;
  return fetch(request).catch((error) => kept ?? Promise.reject(error));
}

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(PAGE)) return;
  event.respondWith(request.mode === "navigate" ? page(request) : file(request));
});

// The page asks for that when a person wants the new console.
addEventListener("message", ({ data }) => {
  if (data === "take over") skipWaiting();
});
