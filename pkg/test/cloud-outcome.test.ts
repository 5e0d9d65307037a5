/** What a connection says and does about calls that were refused, cut in pieces, or whose outcome is unknown. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WriterError } from "../src/cloud/index.js";
import * as m from "../src/cloud/messages.js";
import { encode } from "../src/cloud/protobuf.js";
import { connected } from "./support/cloud.js";
import { code, skip } from "./support/package.js";
import { answer, SIGNER } from "./support/service.js";

const TABLE = { tableName: "row", primaryKey: [{ name: "id", type: "INTEGER" as const }] };

test("a newer row wins over an older one whose batch the service refused as a whole", { skip }, async () => {
  const { db, service, behind } = await connected();
  const slow = await connected({
    fetch: async (url, init) => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      return service.fetch(url, init);
    },
  });
  await db.createTable(TABLE);
  const writer = slow.db.writer("row");
  writer.put({ primaryKey: { id: 1 }, attributes: { n: 1 } });
  writer.put({ primaryKey: { id: 2 }, attributes: { n: 1 } });
  // Beyond what one value may have: the server refuses the batch.
  writer.put({ primaryKey: { id: 3 }, attributes: { text: "x".repeat(2_097_153) } });
  // The batch above leaves, and is not answered yet.
  await new Promise((resolve) => setTimeout(resolve, 0));
  writer.put({ primaryKey: { id: 1 }, attributes: { n: 2 } });
  const last = slow.db.putRow({ tableName: "row", primaryKey: { id: 2 }, attributes: { n: 2 } });
  await assert.rejects(writer.close(), (error) => {
    assert.ok(error instanceof WriterError);
    assert.deepEqual([error.stored, error.failures.map(({ index }) => index)], [3, [2]]);
    return true;
  });
  await last;
  for (const id of [1, 2]) assert.equal((await db.getRow({ tableName: "row", primaryKey: { id } })).row?.get("n"), 2, `row ${id}`);
  for (const one of [db, slow.db, behind, slow.behind]) await one.close();
});

test("a commit whose outcome is unknown, or that is refused for now, does not end its transaction", { skip }, async () => {
  for (const [unknown, status] of [
    ["OTSServerUnavailable", 503],
    ["OTSSomethingNew", 500],
    ["OTSPartitionUnavailable", 503],
  ] as const) {
    let lost = false;
    const { db, service, behind } = await connected({
      retry: false,
      fetch: async (url, init) => {
        const came = await service.fetch(url, init);
        if (!lost || !url.endsWith("/CommitTransaction")) return came;
        return answer("/CommitTransaction", status, encode(m.ServiceError, { code: unknown, message: "why" }), SIGNER, "2026");
      },
    });
    await db.createTable(TABLE);
    const tx = await db.startLocalTransaction({ tableName: "row", partitionKey: { id: 1 } });
    await tx.putRow({ tableName: "row", primaryKey: { id: 1 }, attributes: { n: 1 } });
    lost = true;
    await assert.rejects(tx.commit(), code(unknown));
    assert.equal(tx.state, "OPEN", unknown);
    assert.equal((await db.getRow({ tableName: "row", primaryKey: { id: 1 } })).row?.get("n"), 1);
    for (const one of [db, behind]) await one.close();
  }
});
