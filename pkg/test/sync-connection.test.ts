/** Copies between an instance here and one behind a connection, either way round, and both ways. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import type { SyncDirection } from "../src/sync/index.js";
import { connect, type ConnectOptions } from "../src/cloud/index.js";
import { connected, NOW } from "./support/cloud.js";
import { KEY } from "./support/consumer.js";
import { load, random, skip } from "./support/package.js";
import { ENDPOINT, SIGNER, TestService } from "./support/service.js";
import { ANY_OFFSET, assertSame, dump, during } from "./support/sync.js";

/** An instance here, and a connection to another one. */
async function onBoth(steps: (here: Database, there: Database) => Promise<void>): Promise<void> {
  const { open } = await load();
  const here = await open("here", { storage: "memory", clock: { now: NOW } });
  const { db: there, behind } = await connected();
  try {
    await steps(here, there);
  } finally {
    await Promise.all([here.close(), there.close(), behind.close()]);
  }
}

/** A table with rows of two versions, of every type. */
async function fill(db: Database, rows: number): Promise<void> {
  await db.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 3, maxVersionOffset: ANY_OFFSET, stream: { enabled: true, expirationHours: 24 } });
  for (let id = 0; id < rows; id++) {
    const cells = (value: unknown) => [2, 1].map((version) => ({ value: value as string, version: NOW - version }));
    const attributes = { a: cells(`text ${id}`), b: cells(id % 2 === 0), n: cells(id), d: cells(id + 0.5), x: cells(new Uint8Array([id % 256])) };
    await db.putRow({ tableName: "t", primaryKey: { id }, attributes });
  }
}

const clock = (): number => NOW;

for (const direction of ["to", "both"] as const satisfies readonly SyncDirection[]) {
  for (const way of ["to the service", "from the service"] as const) {
    test(`T5, V1, R2: a copy ${way} (${direction}) has all versions and types, and follows what changes`, { skip }, () =>
      onBoth(async (here, there) => {
        const [from, to] = way === "to the service" ? [here, there] : [there, here];
        await fill(from, 250);
        await during({ from, to, direction, clock }, async (job) => {
          await job.ready;
          await assertSame(from, to);
          await from.updateRow({ tableName: "t", primaryKey: { id: 3 }, put: { a: "changed" }, deleteColumns: ["b"] });
          await from.deleteRow({ tableName: "t", primaryKey: { id: 4 } });
          await from.putRow({ tableName: "t", primaryKey: { id: 1000 }, attributes: { a: "new" } });
          if (direction === "both") await to.updateRow({ tableName: "t", primaryKey: { id: 5 }, put: { n: 55 } });
          await job.caughtUp();
          await assertSame(from, to);
        });
        assert.ok((await dump(from, "t")).length > 1000);
      }),
    );
  }
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

for (const ahead of [-3000, 0, 3000]) {
  test(`T5, ST3: where the service's clock differs by ${ahead} ms, its answers do not tell it and come late, no change is missed, and all is carried when it is told`, {
    skip,
  }, async () => {
    const { open } = await load();
    const here = await open("here", { storage: "memory" });
    const below = random(20_261_130 + ahead);
    const late: ConnectOptions["fetch"] = async (url, init) => {
      await wait(below(4));
      const answer = await service.fetch(url, init);
      const headers = new Headers(answer.headers);
      // A page sees only the headers that the service lets it see.
      headers.delete("x-ots-date");
      await wait(below(4) === 0 ? 40 : below(4));
      return new Response(await answer.arrayBuffer(), { status: answer.status, headers });
    };
    const behind = await open("there", { storage: "memory", clock: () => Date.now() + ahead, worker: false });
    const service = new TestService(behind, await load());
    const there = await connect(ENDPOINT, SIGNER, { fetch: late, pollInterval: 5 });
    await behind.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 1, stream: { enabled: true, expirationHours: 24 } });
    for (let id = 0; id < 400; id++) await behind.putRow({ tableName: "t", primaryKey: { id }, attributes: { n: 0 } });
    let isOver = false;
    const write = async (): Promise<void> => {
      for (let n = 1; !isOver; n++) {
        await behind.updateRow({ tableName: "t", primaryKey: { id: below(400) }, put: { n } });
        await wait(20);
      }
    };
    try {
      const beside = write();
      await during({ from: there, to: here }, async (job) => {
        await job.ready;
        for (let n = 0; n < 3; n++) {
          await behind.putRow({ tableName: "t", primaryKey: { id: 1000 + n }, attributes: { n } });
          await job.caughtUp();
          const { row } = await here.getRow({ tableName: "t", primaryKey: { id: 1000 + n } });
          assert.notEqual(row, null, `the row ${n} was stored before 'caughtUp' was asked`);
        }
        isOver = true;
        await beside;
        await job.caughtUp();
        await assertSame(behind, here);
      });
    } finally {
      isOver = true;
      await Promise.all([here.close(), there.close(), behind.close()]);
    }
  });
}
