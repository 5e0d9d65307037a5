/** Consumer groups: random lives of consumers that come, go, crash and freeze, while rows change and partitions are cut and merged. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { TABLE } from "../src/changes/consumer/table.js";
import type { ConsumerBatch, ConsumerRecord } from "../src/types/consumer.js";
import type { Database } from "../src/index.js";
import { open, random, skip, times } from "./support/package.js";
import { settle, type Tab, World } from "./support/world.js";

const TIMEOUT = 500;
const ROWS = 60;

/** The cells of a row: by column, its versions, newest first. */
type Cells = Record<string, (readonly [version: number, value: unknown])[]>;

/** Another store, which applies what it gets, as often as it gets it. */
class Copy {
  readonly rows = new Map<number, Cells>();

  apply({ type, primaryKey, cells }: ConsumerRecord): void {
    const id = primaryKey.id as number;
    if (type === "DELETE") return void this.rows.delete(id);
    const row = type === "PUT" ? {} : structuredClone(this.rows.get(id) ?? {});
    for (const cell of cells) {
      const versions = row[cell.name] ?? [];
      if (cell.op === "DELETE_ALL") delete row[cell.name];
      else {
        const others = versions.filter(([version]) => version !== cell.version);
        if (cell.op === "PUT") others.push([cell.version, cell.value]);
        row[cell.name] = others.sort(([a], [b]) => b - a).slice(0, 3);
        if (row[cell.name].length === 0) delete row[cell.name];
      }
    }
    // An update of which nothing is left makes no row.
    if (type === "PUT" || Object.keys(row).length > 0) this.rows.set(id, row);
    else this.rows.delete(id);
  }

  content(): unknown[] {
    return [...this.rows].sort(([a], [b]) => a - b);
  }
}

async function contentOf(db: Database): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const row of db.scan({ tableName: "t", maxVersions: 3 })) {
    rows.push([
      row.primaryKey.id,
      Object.fromEntries(Object.entries(row.columns).map(([name, cells]) => [name, cells.map(({ value, version }) => [version, value])])),
    ]);
  }
  return rows;
}

/** One consumer in a tab of its own. */
class Life {
  private readonly control = new AbortController();
  private stop = false;
  refused = 0;
  over: Promise<void>;
  error: unknown;

  constructor(
    readonly tab: Tab,
    private readonly world: World,
    private readonly copy: Copy,
    type: "Stream" | "BaseAndStream",
    private readonly below: (n: number) => number,
    private readonly careful = false,
  ) {
    const consumer = tab
      .group({ tableName: "t", group: "g", type, heartbeatTimeout: TIMEOUT, limit: 1 + below(40), signal: this.control.signal })
      [Symbol.asyncIterator]();
    this.over = this.run(consumer).catch((error: unknown) => void (this.error = error));
  }

  private async run(consumer: AsyncIterableIterator<ConsumerBatch>): Promise<void> {
    const { id } = consumer as unknown as { id: string };
    const { below, tab } = this;
    let kept: ConsumerBatch[] = [];
    for await (const batch of consumer) {
      // This very moment nobody else has the channel.
      const { row } = await this.world.db.getRow({ tableName: TABLE, primaryKey: await this.keyOf(batch.channelId) });
      assert.equal(row?.get("owner"), id, `channel ${batch.channelId}`);
      for (const record of batch.records) this.copy.apply(record);
      kept.push(batch);
      if (!this.careful && below(4) === 0) await tab.sleep(below(3 * TIMEOUT));
      if (this.careful || below(3) > 0) {
        for (const { checkpoint } of kept) {
          await tab.gate();
          await checkpoint().catch((error: { code?: string }) => {
            assert.equal(error.code, "OTSSequenceNumberNotMatch", String(error));
            this.refused += 1;
          });
          await tab.gate();
        }
        kept = [];
      }
      if (this.stop) break;
    }
  }

  private async keyOf(channel: string): Promise<{ table: string; group: string; item: string }> {
    const { row } = await this.world.db.getRow({ tableName: TABLE, primaryKey: { table: "t", group: "g", item: "" } });
    return { table: "t", group: "g", item: `channel ${row?.get("id") as string} ${channel}` };
  }

  /** Ends it in one of two ways. */
  end(): void {
    this.stop = true;
    this.control.abort(new Error("enough"));
  }
}

/** A text that does not get smaller when it is stored. */
const pad = (n: number): string => Array.from({ length: 50 }, (_, i) => ((n * 7919 + i * 104_729) % 1_000_003).toString(36)).join("");

async function life(seed: number, type: "Stream" | "BaseAndStream"): Promise<{ refused: number; shards: number; crashes: number }> {
  const below = random(seed);
  const db = await open({ partitions: { splitBytes: 12_000, mergeBytes: 5_000 } });
  const stream = { enabled: true, expirationHours: 24 };
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 3, ...(type === "Stream" ? { stream } : {}) });
  const world = new World(db);
  const copy = new Copy();
  let lives: Life[] = [];
  const all: Life[] = [];
  let [written, crashes] = [0, 0];
  const write = async (): Promise<void> => {
    const id = below(ROWS);
    const kind = below(10);
    written += 1;
    if (kind < 4) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { v: written, pad: pad(written) } });
    else if (kind < 7) await db.updateRow({ tableName: "t", primaryKey: { id }, put: { w: `${written}`, v: written } });
    else if (kind < 8) await db.updateRow({ tableName: "t", primaryKey: { id }, deleteColumns: ["w"] });
    else if (kind < 9) await db.updateRow({ tableName: "t", primaryKey: { id }, increment: { n: 1 } });
    else await db.deleteRow({ tableName: "t", primaryKey: { id } });
  };
  if (type === "BaseAndStream") {
    // Rows that only the full part has.
    await db.batchWriteRow(
      Array.from({ length: ROWS }, (_, i) => ({ tableName: "t", put: { primaryKey: { id: 1000 * (i % 3) - 500 - i }, attributes: { v: i, pad: pad(i) } } })),
    );
    for (let i = 0; i < 150; i++) await write();
    await db.flush();
    await db.compact();
    await db.updateTable({ tableName: "t", stream });
    for (let i = 0; i < 20; i++) await write();
  }
  for (let step = 0; step < 70; step++) {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        for (let i = below(30); i >= 0; i--) await write();
        break;
      case 3:
        await db.batchWriteRow(
          Array.from({ length: ROWS }, (_, id) => ({ tableName: "t", put: { primaryKey: { id }, attributes: { v: (written += 1), pad: pad(written) } } })),
        );
        break;
      case 4:
        if (below(3) === 0) await db.batchWriteRow(Array.from({ length: ROWS - 5 }, (_, id) => ({ tableName: "t", delete: { primaryKey: { id } } })));
        await db.flush();
        await db.compact();
        break;
      case 5:
      case 6: {
        if (lives.length === 4) break;
        const one = new Life(world.open(), world, copy, type, below);
        lives.push(one);
        all.push(one);
        break;
      }
      case 7:
        lives.splice(below(4), 1).forEach((one) => one.end());
        break;
      case 8:
        lives.splice(below(4), 1).forEach(({ tab }) => {
          tab.crash();
          crashes += 1;
        });
        break;
      case 9:
        lives[below(4)]?.tab.freeze(below(12));
        break;
      case 10:
        for (const { tab } of lives) tab.thaw(below(2) === 0);
        break;
      default:
    }
    await world.pass(below(3 * TIMEOUT));
  }
  for (const { tab } of all) tab.thaw();
  for (const one of lives) one.end();
  lives = [];
  await world.pass(2 * TIMEOUT);
  // One that does all that is left.
  const last = new Life(world.open(), world, copy, type, below, true);
  all.push(last);
  await world.pass(12 * TIMEOUT, 100);
  for (let i = 0; i < 20; i++) await settle();
  const { channels } = await world.open().group({ tableName: "t", group: "g", type }).describe();
  assert.deepEqual(
    channels.filter(({ waitingSince, phase, state }) => waitingSince !== null || (phase === "BaseData" && state !== "TERMINATED")),
    [],
    "all was read",
  );
  last.end();
  await world.pass(TIMEOUT);
  for (const { error } of all) if (error !== undefined && !/enough/.test(String(error))) throw error;
  assert.deepEqual(copy.content(), await contentOf(db));
  const [{ streamId }] = await db.listStream({ tableName: "t" });
  const { shards } = await db.describeStream({ streamId });
  await db.close();
  return { refused: all.reduce((sum, { refused }) => sum + refused, 0), shards: shards.length, crashes };
}

const SEED = process.env.TABSTORE_SEED;
const TIMES = Number(process.env.TABSTORE_TIMES ?? 1);

for (const type of ["Stream", "BaseAndStream"] as const) {
  test(`ST2, ST3: consumers of a group that come, go, crash and freeze make the same rows of ${type}`, { skip }, async () => {
    const seeds = SEED === undefined ? Array.from({ length: times(10, 4) * TIMES }, (_, i) => i + 1) : [Number(SEED)];
    const sums = { refused: 0, shards: 0, crashes: 0 };
    for (const seed of seeds) {
      try {
        const { refused, shards, crashes } = await life(seed, type);
        sums.refused += refused;
        sums.shards += shards;
        sums.crashes += crashes;
      } catch (error) {
        throw new Error(`TABSTORE_SEED=${seed}: ${String(error)}`, { cause: error });
      }
    }
    if (SEED !== undefined) return;
    assert.ok(sums.refused > 0 && sums.crashes > 0 && sums.shards > 3 * seeds.length, JSON.stringify(sums));
  });
}
