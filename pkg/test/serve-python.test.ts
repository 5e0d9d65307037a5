/** The PyPI package `tablestore`, as it is published, against the server: test/sdk/python_sdk.py has the checks. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { serveDatabase } from "./support/served.js";
import { python, skipPython } from "./support/programs.js";

test("I6, R1 to R7: the Python SDK works with both versions of the signature, each of its operations for wide columns", { skip: skipPython }, async (t) => {
  const { db, tablestore, failures } = await serveDatabase(t);
  const primaryKey = [
    { name: "pk1", type: "INTEGER" },
    { name: "pk2", type: "STRING" },
  ] as const;
  await db.createTable({ tableName: "transactions", primaryKey, enableLocalTransaction: true });
  await db.createAccessKey({ rights: ["read"], accessKeyId: "reader", accessKeySecret: "reads" });
  const program = path.resolve("test/sdk/python_sdk.py");
  const { status, stderr } = await python(program, tablestore, "transactions");
  const tests = readFileSync(program, "utf8").match(/^ {4}def test_/gm)!.length;
  assert.equal(status, 0, stderr);
  assert.match(stderr, new RegExp(`\\nRan ${2 * tests} tests in .*\\n\\nOK\\n$`), "each one twice, and none is skipped");
  assert.deepEqual(failures, []);
});
