// A large table in a browser of its own: the common part of growth and million.

import { Browser } from "./browser.mjs";
import { median, say } from "./statistics.mjs";

const REOPENINGS = 5;

/** A page whose worker has our package and one table. */
export class Large {
  static async start(server, sqlite, options = {}) {
    const me = new Large();
    me.options = options;
    me.browser = await Browser.start(sqlite);
    me.page = await me.browser.open(`http://127.0.0.1:${server.port}/`);
    await me.ask("open", "large", options, 0);
    return me;
  }

  /** Asks for one of the tools of src/large.ts. */
  ask(tool, ...rest) {
    say(`${tool} ${rest.filter((value) => typeof value === "number").join(" ")}`);
    return this.page.evaluate((all) => globalThis.bench.large(...all), [tool, ...rest]);
  }

  /** Milliseconds from closed to the first row read, in the same worker and with a new one. */
  async reopen(rows, overwritten = false) {
    const same = [];
    const fresh = [];
    for (let i = 0; i < REOPENINGS; i++) {
      await this.ask("close");
      same.push(await this.ask("open", "large", this.options, rows, overwritten));
    }
    for (let i = 0; i < REOPENINGS; i++) {
      await this.ask("close");
      say("a new worker");
      fresh.push(await this.page.evaluate((all) => globalThis.bench.largeAnew(...all), ["large", this.options, rows, overwritten]));
    }
    return { same: median(same), fresh: median(fresh) };
  }

  /** The bytes in memory and on disk at this moment. */
  async uses() {
    const metrics = await this.ask("metrics");
    return {
      wasm: metrics.wasmMemoryBytes,
      renderer: await this.browser.rendererBytes(),
      disk: this.browser.storedBytes(),
      segments: metrics.segments.bytes,
      cache: metrics.cache.bytes,
      memtable: metrics.memtable.bytes,
      work: metrics.work,
    };
  }

  stop() {
    return this.browser.stop();
  }
}
