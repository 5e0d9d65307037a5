// What typed tables cost in a browser.

import { Browser } from "./browser.mjs";
import { machineOf } from "./compare.mjs";
import { report, turns } from "./typed-turns.mjs";

/** In a page, with the engine in the page. */
export async function typed(server, wanted) {
  const browser = await Browser.start(wanted["sqlite-idb"]);
  try {
    const page = await browser.open(`http://127.0.0.1:${server.port}/typed`, "typed");
    const ask = (tool, ...rest) => page.evaluate(([name, all]) => globalThis.typed[name](...all), [tool, rest]);
    const samples = {};
    for (const storage of ["memory", "indexeddb"]) samples[storage] = await turns(ask, storage, wanted);
    const machine = machineOf(browser);
    return { record: { machine, samples }, ...report(samples, `Headless Chromium ${machine.chromium}.`) };
  } finally {
    await browser.stop();
  }
}
