/** The console without a network: its service worker keeps its files, and a new version is told. */

import { signal } from "@preact/signals";

/** Takes the new version of the console and loads it; `undefined` while there is none. */
export const update = signal<(() => void) | undefined>(undefined);

/** A new version waits behind the one that shows this page. */
function offer(waiting: ServiceWorker): void {
  update.value = () => {
    navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), { once: true });
    waiting.postMessage("take over");
  };
}

function watch(registration: ServiceWorkerRegistration): void {
  if (registration.waiting !== null) offer(registration.waiting);
  registration.addEventListener("updatefound", () => {
    const { installing } = registration;
    installing?.addEventListener("statechange", () => {
      // The first one of all is no update.
      if (installing.state === "installed" && navigator.serviceWorker.controller !== null) offer(installing);
    });
  });
}

/** Keeps the console for visits without a network, where its page names a service worker: development has none. */
export async function keepOffline(): Promise<void> {
  const file = document.querySelector<HTMLMetaElement>('meta[name="service-worker"]')?.content;
  if (file === undefined || !("serviceWorker" in navigator)) return;
  try {
    watch(await navigator.serviceWorker.register(file));
  } catch {
    // The browser forbids it, or the network has gone. The console works as before.
  }
}
