/** A client that owns some rows, so it knows the contents of each of them at any moment. */

import type { Row } from "tabstore";
import { random } from "../data.js";
import { type Client, keyOf, placeOf, type Scene, textOf, wrong } from "./scene.js";

export const OWNED = "owned";
const PLACES = 4_000;
/** Operations on different rows that are under way at once. */
const AT_ONCE = 8;

/** The right contents of a row. */
interface State {
  readonly seq: number;
  readonly size: number;
  readonly hits: number;
  readonly extra: number | undefined;
}

/** Puts, updates, increments, deletes and batches of its rows; gets, batches of gets, ranges and scans of them. */
export class Owner implements Client {
  private readonly rows = new Map<number, State>();
  private readonly next: () => number;
  private seq: number;
  private readonly prefix: string;

  constructor(
    private readonly scene: Scene,
    index: number,
    seed: number,
  ) {
    this.next = random(seed * 1000 + index);
    this.prefix = `c${index}`;
    this.seq = index * 1e9;
  }

  async run(): Promise<void> {
    while (!this.scene.over) {
      const kind = this.next() % 100;
      if (kind < 60) await this.singles();
      else if (kind < 75) await this.batch();
      else if (kind < 85) await this.getMany();
      else if (kind < 99) await this.range();
      else await this.verify();
    }
  }

  private key(place: number): { group: string; n: number } {
    return keyOf(this.prefix, place);
  }

  private fresh(): State {
    this.seq += 1;
    const chance = this.next() % 100;
    const size = chance === 0 ? 20_000 : 40 + (this.next() % 600);
    return { seq: this.seq, size, hits: 0, extra: this.next() % 2 === 0 ? (this.next() % 1000) + 0.5 : undefined };
  }

  private attributes({ seq, size, hits, extra }: State): Record<string, string | number> {
    return { seq, text: textOf(seq, size), hits, ...(extra === undefined ? {} : { extra }) };
  }

  private check(place: number, row: Row | null): void {
    const state = this.rows.get(place);
    this.scene.compared += 1;
    if (state === undefined || row === null) {
      if (state !== undefined || row !== null) wrong(`row ${place} of ${this.prefix}`, row?.toObject() ?? null, state ?? null);
      return;
    }
    const { seq, text, hits, extra } = row.toObject();
    if (seq !== state.seq || hits !== state.hits || extra !== state.extra || text !== textOf(state.seq, state.size))
      wrong(`row ${place} of ${this.prefix}`, { seq, hits, extra, text }, state);
  }

  /** Single operations on different rows. */
  private async singles(): Promise<void> {
    const places = new Set<number>();
    while (places.size < AT_ONCE) places.add(this.next() % PLACES);
    await Promise.all([...places].map((place) => this.single(place)));
  }

  private async single(place: number): Promise<void> {
    const { db } = this.scene;
    const primaryKey = this.key(place);
    const state = this.rows.get(place);
    const kind = this.next() % 100;
    if (kind < 35) {
      this.check(place, (await this.scene.time("get", () => db.getRow({ tableName: OWNED, primaryKey }))).row);
    } else if (kind < 65 || state === undefined) {
      const fresh = this.fresh();
      const put = this.scene.time("put", () => db.putRow({ tableName: OWNED, primaryKey, attributes: this.attributes(fresh) }));
      if (kind % 5 === 0) {
        // Asked after the put, and before its answer: it sees it.
        const get = this.scene.time("get", () => db.getRow({ tableName: OWNED, primaryKey }));
        this.rows.set(place, fresh);
        this.check(place, (await get).row);
      }
      await put;
      this.rows.set(place, fresh);
    } else if (kind < 80) {
      const { seq, size } = this.fresh();
      await this.scene.time("update", () => db.updateRow({ tableName: OWNED, primaryKey, put: { seq, text: textOf(seq, size) }, deleteColumns: ["extra"] }));
      this.rows.set(place, { ...state, seq, size, extra: undefined });
    } else if (kind < 92) {
      await this.scene.time("increment", () => db.updateRow({ tableName: OWNED, primaryKey, increment: { hits: 1 } }));
      this.rows.set(place, { ...state, hits: state.hits + 1 });
    } else {
      await this.scene.time("delete", () => db.deleteRow({ tableName: OWNED, primaryKey }));
      this.rows.delete(place);
    }
  }

  private async batch(): Promise<void> {
    const first = this.next() % (PLACES - 60);
    const changes = new Map<number, State | undefined>();
    for (let i = 0; i < 20; i++) changes.set(first + (this.next() % 60), this.next() % 5 === 0 ? undefined : this.fresh());
    const results = await this.scene.time("batch of 20 writes", () =>
      this.scene.db.batchWriteRow(
        [...changes].map(([place, state]) => {
          const primaryKey = this.key(place);
          return state === undefined
            ? { tableName: OWNED, delete: { primaryKey } }
            : { tableName: OWNED, put: { primaryKey, attributes: this.attributes(state) } };
        }),
      ),
    );
    let i = 0;
    for (const [place, state] of changes) {
      const result = results[i++];
      if (!result.ok) throw result.error;
      if (state === undefined) this.rows.delete(place);
      else this.rows.set(place, state);
    }
  }

  private async getMany(): Promise<void> {
    const places = [...new Set(Array.from({ length: 50 }, () => this.next() % PLACES))];
    const [results] = await this.scene.time("batch of 50 gets", () =>
      this.scene.db.batchGetRow([{ tableName: OWNED, primaryKeys: places.map((place) => this.key(place)) }]),
    );
    results.forEach((result, i) => {
      if (!result.ok) throw result.error;
      this.check(places[i], result.row);
    });
  }

  private async range(): Promise<void> {
    const first = this.next() % PLACES;
    const end = Math.min(PLACES, first + 1 + (this.next() % 200));
    const backward = this.next() % 2 === 0;
    const edges = { start: this.key(backward ? end - 1 : first), end: this.key(backward ? first - 1 : end) };
    if (backward && first === 0) return;
    const { rows, nextStartPrimaryKey } = await this.scene.time("range", () =>
      this.scene.db.getRange({ tableName: OWNED, direction: backward ? "BACKWARD" : "FORWARD", ...edges }),
    );
    const found = new Map(rows.map((row) => [placeOf(row.primaryKey), row]));
    // A page may end early: then it says where.
    const stop = nextStartPrimaryKey === null ? undefined : placeOf(nextStartPrimaryKey);
    const [from, to] = backward ? [stop === undefined ? first : stop + 1, end] : [first, stop ?? end];
    for (let place = from; place < to; place++) {
      this.check(place, found.get(place) ?? null);
      found.delete(place);
    }
    if (found.size > 0) wrong(`a range of ${this.prefix} from ${first} to ${end}`, [...found.keys()], "no more rows");
  }

  async verify(): Promise<void> {
    let place = 0;
    const scan = this.scene.db.scanPages({ tableName: OWNED, start: this.key(0), end: this.key(PLACES) });
    for (;;) {
      const page = await this.scene.time("page of a scan", () => scan.next());
      if (page.done) break;
      for (const row of page.value) {
        const at = placeOf(row.primaryKey);
        for (; place < at; place++) this.check(place, null);
        this.check(place++, row);
      }
    }
    for (; place < PLACES; place++) this.check(place, null);
  }
}
