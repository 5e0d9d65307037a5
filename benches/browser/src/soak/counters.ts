/** Clients that increment the same few counters: nothing may be lost, nothing counted twice. */

import { random } from "../data.js";
import { type Client, keyOf, type Scene, wrong } from "./scene.js";

export const COUNTERS = "counters";
const COUNT = 8;

/** The state that several clients share: the increments of each counter that were asked for, and those that are known. */
export class Tally {
  readonly asked = new Array<number>(COUNT).fill(0);
  readonly acknowledged = new Array<number>(COUNT).fill(0);
}

/** One of them. */
export class Counting implements Client {
  private readonly next: () => number;

  constructor(
    private readonly scene: Scene,
    private readonly tally: Tally,
    seed: number,
  ) {
    this.next = random(seed);
  }

  async run(): Promise<void> {
    const { tally, scene } = this;
    while (!scene.over) {
      const which = this.next() % COUNT;
      const primaryKey = keyOf("k", which * 20);
      const least = tally.acknowledged[which];
      let found: unknown;
      let step = 0;
      if (this.next() % 3 > 0) {
        step = 1;
        tally.asked[which] += 1;
        const { row } = await scene.time("increment", () =>
          scene.db.updateRow({ tableName: COUNTERS, primaryKey, increment: { value: 1 }, returnContent: { afterModify: ["value"] } }),
        );
        tally.acknowledged[which] += 1;
        found = row?.get("value");
      } else {
        found = (await scene.time("get", () => scene.db.getRow({ tableName: COUNTERS, primaryKey }))).row?.get("value") ?? 0;
      }
      scene.compared += 1;
      if (Number(found) < least + step || Number(found) > tally.asked[which]) wrong(`counter ${which}`, found, { from: least + step, to: tally.asked[which] });
    }
  }

  async verify(): Promise<void> {
    for (let which = 0; which < COUNT; which++) {
      const { row } = await this.scene.db.getRow({ tableName: COUNTERS, primaryKey: keyOf("k", which * 20) });
      const found = Number(row?.get("value") ?? 0);
      if (found !== this.tally.acknowledged[which]) wrong(`counter ${which}`, found, this.tally.acknowledged[which]);
    }
  }
}
