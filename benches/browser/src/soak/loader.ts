/** A client that loads the same table again and again, deletes a stretch of it, and one that reads it meanwhile. */

import type { Row } from "tabstore";
import { type Client, keyOf, placeOf, type Scene, textOf, wrong } from "./scene.js";

export const LOADED = "loaded";
const ROWS = 20_000;
/** The stretch that is deleted after each load. */
const FROM = ROWS * 0.4;
const TO = ROWS * 0.6;
const BATCH = 200;

const primaryKey = (place: number) => keyOf("r", place);
const attributes = (place: number, generation: number) => ({ generation, text: textOf(place + generation * ROWS, 200 + (place % 100)) });

/** Loads through `db.writer`. */
export class Loader implements Client {
  /** The last load that has begun; the last one that was acknowledged as a whole. */
  begun = 0;
  acknowledged = 0;
  private deleted = false;

  constructor(private readonly scene: Scene) {}

  async run(): Promise<void> {
    while (!this.scene.over) {
      await this.load();
      await this.verify();
      if (this.scene.over) return;
      await this.remove();
      await this.verify();
    }
  }

  private async load(): Promise<void> {
    this.begun += 1;
    this.deleted = false;
    const writer = this.scene.db.writer(LOADED);
    for (let place = 0; place < ROWS; place++) {
      const wait = writer.put({ primaryKey: primaryKey(place), attributes: attributes(place, this.begun) });
      if (wait) await this.scene.time("a writer's wait", () => wait);
    }
    await this.scene.time("a writer's close", () => writer.close());
    this.acknowledged = this.begun;
  }

  private async remove(): Promise<void> {
    for (let from = FROM; from < TO; from += BATCH) {
      const items = Array.from({ length: BATCH }, (_, i) => ({ tableName: LOADED, delete: { primaryKey: primaryKey(from + i) } }));
      for (const result of await this.scene.time("batch of 200 deletes", () => this.scene.db.batchWriteRow(items))) if (!result.ok) throw result.error;
    }
    this.deleted = true;
  }

  /** Whether a row is one that a load between two has put. */
  checkRow(row: Row, least: number, most: number): void {
    const place = placeOf(row.primaryKey);
    const { generation, text } = row.toObject();
    const found = Number(generation);
    this.scene.compared += 1;
    if (found < least || found > most || text !== attributes(place, found).text) wrong(`row ${place} of the load`, { generation, text }, { least, most });
  }

  /** A row that has to be there at any time between loads. */
  static always(place: number): boolean {
    return place < FROM || place >= TO;
  }

  async verify(): Promise<void> {
    if (this.acknowledged !== this.begun) return;
    let place = 0;
    for await (const rows of this.scene.db.scanPages({ tableName: LOADED })) {
      for (const row of rows) {
        if (this.deleted && place === FROM) place = TO;
        if (placeOf(row.primaryKey) !== place) wrong("the load", placeOf(row.primaryKey), place);
        this.checkRow(row, this.begun, this.begun);
        place += 1;
      }
    }
    if (this.begun > 0 && place !== ROWS) wrong("rows of the load", place, ROWS);
  }
}

/** Scans the table that is being loaded. */
export class Watcher implements Client {
  constructor(
    private readonly scene: Scene,
    private readonly loader: Loader,
  ) {}

  async run(): Promise<void> {
    while (!this.scene.over) {
      const least = this.loader.acknowledged;
      let place = 0;
      const scan = this.scene.db.scanPages({ tableName: LOADED });
      for (;;) {
        const page = await this.scene.time("page of a scan", () => scan.next());
        if (page.done) break;
        for (const row of page.value) {
          const at = placeOf(row.primaryKey);
          this.missing(place, at, least);
          this.loader.checkRow(row, least, this.loader.begun);
          place = at + 1;
        }
      }
      this.missing(place, ROWS, least);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  private missing(from: number, to: number, least: number): void {
    if (to < from) wrong("the order of the load", to, from);
    for (let place = from; place < to && least > 0; place++) if (Loader.always(place)) wrong("the load while it runs", `no row ${place}`, "it");
  }

  async verify(): Promise<void> {}
}
