/** The programs of examples/sdks, word for word, against the server. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { serveDatabase } from "./support/served.js";
import { skip } from "./support/package.js";
import { node, python, skipPython } from "./support/programs.js";

const example = (name: string): string => path.resolve("../examples/sdks", name);

test("Z1, I6: the example with the SDK of Azure prints what it has stored", { skip }, async (t) => {
  const { azure } = await serveDatabase(t);
  assert.deepEqual(await node(example("azure.cjs"), azure), { status: 0, stdout: "tempMax 12.8\n", stderr: "" });
});

test("R1, I6: the example with the SDK of Table Store for Node prints what it has stored", { skip }, async (t) => {
  const { tablestore } = await serveDatabase(t);
  assert.deepEqual(await node(example("tablestore.cjs"), tablestore), { status: 0, stdout: "tempMax 12.8\n", stderr: "" });
});

test("R1, I6: the example with the SDK of Table Store for Python prints what it has stored", { skip: skipPython }, async (t) => {
  const { tablestore } = await serveDatabase(t);
  const { status, stdout, stderr } = await python(example("tablestore_example.py"), tablestore);
  assert.deepEqual([status, stdout.split("\n").at(-2)], [0, "tempMax 12.8"], stderr);
});
