// Tabs whose renderer is stopped. DevTools' frozen state leaves workers running, so it shows nothing.

import { openPage } from "./browser.mjs";
import { engine } from "./engine.mjs";

/** Otherwise a tab may get a renderer that was there before. */
export const OWN_RENDERER = engine.renderers === undefined ? [] : ["--disable-features=SpareRendererForSitePerProcess"];

/** Opens a page, and finds its renderer. */
export async function openFreezable(t, context, server) {
  const before = await engine.renderers?.(context);
  const page = await openPage(t, context, server);
  const pids = before === undefined ? [page.process()] : (await engine.renderers(context)).filter((pid) => !before.includes(pid));
  if (pids.length !== 1) throw new Error(`a new page has ${pids.length} new renderers`);
  const send = (signal) => process.kill(pids[0], signal);
  t.after(() => {
    try {
      send("SIGCONT");
    } catch {
      // It has ended.
    }
  });
  return Object.assign(page, { stop: () => send("SIGSTOP"), thaw: () => send("SIGCONT") });
}

/**
 * Freezes a page as a browser does: between two tasks, and not while others wait for it. A signal may stop it in the middle of one,
 * with a transaction begun and not committed, a write of blocks as well as a read, which blocks all writers for minutes. `other`, a
 * page that runs, tells.
 */
export async function freeze(page, other, instance) {
  for (;;) {
    page.stop();
    const isFree = await other.evaluate(
      (instance) => Promise.race([H.allEnded(instance).then(() => true), new Promise((resolve) => setTimeout(resolve, 500, false))]),
      instance,
    );
    if (isFree) return;
    page.thaw();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
