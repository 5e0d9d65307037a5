/** The examples of the READMEs and of the doc comments compile, for people who copy them into strict TypeScript. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { commentExamples, compile, examplesOf, readmeExamples } from "./support/examples.js";

test("W3: every example of the READMEs and the doc comments compiles under strict TypeScript, by both entries", () => {
  const examples = [...readmeExamples(), ...commentExamples()];
  assert.ok(examples.length >= 32, `only ${examples.length} examples were found`);
  assert.deepEqual(compile(examples), []);
});

test("an example that people could not copy is named, by file and line", () => {
  const broken: [string, RegExp][] = [
    ["const n: number = db;", /Type 'Database' is not assignable/],
    ['(await db.getRow({ tableName, primaryKey })).row.get("a");', /possibly 'null'/],
    ['const { row } = await db.getRow({ tableName, primaryKey });\nif (row?.get("balance") >= 10) await db.close();', /possibly 'undefined'|cannot be applied/],
    ["await db.getRow({ tableNmae: tableName, primaryKey });", /tableNmae/],
    ["await nobodyKnows.close();", /Cannot find name 'nobodyKnows'/],
    ["condition: { tableName }", /Unused label/],
    ['import { opn } from "tabstore";', /no exported member.*'?opn/],
    ['const [first] = (await db.getRange({ tableName })).rows;\nfirst.get("a");', /possibly 'undefined'/],
    ["const loose = (given) => given;\nloose(1);", /implicitly has an 'any' type/],
    ["(await db.listTable() as unknown);", /needs a cast/],
    ['(await db.getRow({ tableName, primaryKey })).row!.get("a");', /needs a non-null assertion/],
    ["// @ts-ignore\nnothing();", /needs a silenced error/],
  ];
  const text = broken.map(([code]) => `\`\`\`js\n${code}\n\`\`\`\n`).join("");
  const examples = examplesOf("broken.md", text);
  assert.equal(examples.length, broken.length);
  const wrong = compile(examples);
  examples.forEach(({ line, code }, index) => {
    const last = line + code.split("\n").length - 1;
    const [, message] = broken[index];
    const named = wrong.filter((one) => message.test(one) && Number(one.split(":")[1]) >= line && Number(one.split(":")[1]) <= last);
    assert.ok(named.length > 0, `nothing was said about ${code} in lines ${line} to ${last}, which should be ${message}:\n${wrong.join("\n")}`);
  });
  assert.throws(() => examplesOf("broken.md", "```typescript\nopen();\n```\n"), /broken.md:1: a block of 'typescript'/);
  assert.throws(() => examplesOf("broken.md", "```js\nopen();\n"), /does not end/);
});
