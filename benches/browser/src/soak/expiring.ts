/** A client that puts rows into a table whose rows live a day, and travels through the days. */

import { random } from "../data.js";
import { type Client, keyOf, placeOf, type Scene, textOf, wrong } from "./scene.js";

export const EXPIRING = "expiring";
/** The shortest life that a table can give its rows, in seconds. */
export const LIFE = 86_400;
const HOUR = 3_600_000;
/** Rows that are put at one time, and milliseconds until the next time. The clock goes on as ours does meanwhile. */
const ROWS = 40;
const PAUSE = 250;
/** After so many times it leaps: not more often, because the load of a partition is known by seconds of the clock. */
const LEAP = 24;
const LEAP_MS = 2 * HOUR;
/** A stamp may be this far ahead of the clock, which stands still while many rows are written. */
const MARGIN = HOUR / 6;
/** For so long after the end of its life it is looked whether a row is gone. */
const REMEMBERED = 4 * HOUR;

/** Some rows, and when they were put. */
interface Put {
  readonly from: number;
  readonly at: number;
}

/** The only client that moves the clock. */
export class Expiring implements Client {
  private readonly next: () => number;
  private puts: Put[] = [];
  private place = 0;
  private times = 0;
  /** When the clock was set, by ours. */
  private before = performance.now();
  /** Rows before this one are long gone. */
  private forgotten = 0;

  constructor(
    private readonly scene: Scene,
    seed: number,
  ) {
    this.next = random(seed * 77);
  }

  async run(): Promise<void> {
    while (!this.scene.over) {
      const from = this.place;
      this.place += ROWS;
      const at = this.scene.now;
      const put = (place: number) => this.scene.db.putRow({ tableName: EXPIRING, primaryKey: keyOf("e", place), attributes: { text: textOf(place, 500) } });
      await Promise.all(Array.from({ length: ROWS }, (_, i) => this.scene.time("put", () => put(from + i))));
      this.puts.push({ from, at });
      for (let i = 0; i < 20; i++) await this.get();
      if (this.next() % LEAP === 0) await this.verify();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      await this.travel();
      while (this.puts[0] !== undefined && this.scene.now - this.puts[0].at > LIFE * 1000 + REMEMBERED) {
        this.forgotten = this.puts.shift()!.from + ROWS;
      }
    }
  }

  private async travel(): Promise<void> {
    const real = performance.now();
    this.scene.now += Math.round(real - this.before);
    this.before = real;
    this.times += 1;
    if (this.times % LEAP === 0) this.scene.now += LEAP_MS;
    await this.scene.db.setClock(this.scene.now);
  }

  /** `true`: it must be there; `undefined`: it may be. */
  private visible(at: number): boolean | undefined {
    const age = this.scene.now - at;
    return age < LIFE * 1000 - MARGIN ? true : age > LIFE * 1000 + MARGIN ? false : undefined;
  }

  private check(place: number, at: number, found: unknown): void {
    const visible = this.visible(at);
    this.scene.compared += 1;
    if (visible === undefined) return;
    if (visible !== (found !== undefined)) wrong(`row ${place}, put ${(this.scene.now - at) / HOUR} hours ago`, found ?? null, visible ? "it" : "nothing");
    if (visible && found !== textOf(place, 500)) wrong(`row ${place}`, found, textOf(place, 500));
  }

  private async get(): Promise<void> {
    const { from, at } = this.puts[this.next() % this.puts.length];
    const place = from + (this.next() % ROWS);
    const { row } = await this.scene.time("get", () => this.scene.db.getRow({ tableName: EXPIRING, primaryKey: keyOf("e", place) }));
    this.check(place, at, row?.get("text"));
  }

  async verify(): Promise<void> {
    const found = new Map<number, unknown>();
    for await (const rows of this.scene.db.scanPages({ tableName: EXPIRING })) for (const row of rows) found.set(placeOf(row.primaryKey), row.get("text"));
    for (const { from, at } of this.puts) {
      for (let place = from; place < from + ROWS; place++) {
        this.check(place, at, found.get(place));
        found.delete(place);
      }
    }
    for (const place of found.keys()) if (place >= this.place || place < this.forgotten) wrong("what has expired", place, "nothing");
  }
}
