/** The server killed while the SDKs write: SERVE_KILLS says how often. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import { load, skip, times } from "./support/package.js";
import { serve } from "./support/server.js";
import { sdk, sdkClient } from "./support/tablestore-sdk.js";

const TIMES = Number(process.env["SERVE_KILLS"] ?? times(100, 4));

test(`R4: a server that is killed while it answers loses no write that it has acknowledged, ${TIMES} times`, { skip }, async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tabstore-kill-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { open } = await load();
  const openHere = () => open("demo", { storage: "files", path: folder });
  const setUp = await openHere();
  await setUp.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  await setUp.close();
  const { Long, Condition } = sdk();
  const when = new Condition(0, null);
  const acknowledged = new Set<number>();
  let next = 0;
  for (let kill = 0; kill < TIMES; kill++) {
    const server = await serve(t, "--data", folder);
    const client = sdkClient(server.tablestore);
    const row = (id: number): object => ({
      primaryKey: [{ id: Long.fromNumber(id) }],
      attributeColumns: [{ value: `value ${id}` }, { same: `value ${id}` }],
      condition: when,
    });
    let isOver = false;
    const put = async (): Promise<void> => {
      const id = next++;
      await client.putRow!({ tableName: "t", ...row(id) });
      acknowledged.add(id);
    };
    const putBatch = async (): Promise<void> => {
      const ids = Array.from({ length: 20 }, () => next++);
      const { tables } = await client.batchWriteRow!({ tables: [{ tableName: "t", rows: ids.map((id) => ({ type: "PUT", ...row(id) })) }] });
      for (const [n, { isOk }] of tables.entries()) if (isOk) acknowledged.add(ids[n]!);
    };
    const write = async (work: () => Promise<void>): Promise<void> => {
      while (!isOver) await work().catch((error: { code: unknown }) => assert.ok(isOver || error.code === "NetworkingError", String(error)));
    };
    const before = acknowledged.size;
    const writers = Promise.all([...Array.from({ length: 7 }, () => write(put)), write(putBatch)]);
    // Some die early, the others after some hundred writes.
    const isEnough = async (): Promise<void> => {
      while (acknowledged.size < before + 20 + ((kill * 97) % 400)) await new Promise((resolve) => setTimeout(resolve, 2));
    };
    await Promise.race([isEnough(), writers]);
    await server.end("SIGKILL");
    isOver = true;
    await writers;
    const db = await openHere();
    const rows = new Map<number, unknown>();
    for await (const found of db.scan({ tableName: "t" })) {
      rows.set(Number(found.primaryKey["id"]), found.get("value"));
      assert.equal(found.get("same"), found.get("value"), "no row is torn");
    }
    for (const id of acknowledged) assert.equal(rows.get(id), `value ${id}`, `kill ${kill}: row ${id}`);
    await db.close();
  }
  t.diagnostic(`${TIMES} kills, ${acknowledged.size} acknowledged writes, none lost`);
});
