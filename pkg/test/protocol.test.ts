/** What tabs say to each other: PROTOCOL names its version, so a change of one needs a look at the other. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { PROTOCOL } from "../src/tabs/channel.js";

/** The version, and the digest of what it stands for. */
const KNOWN = { protocol: 5, digest: "ebf3a1fe8250a1fb" };

/** Declarations of messages between tabs, by file. */
const MESSAGES: readonly (readonly [file: string, types: readonly string[]])[] = [
  ["tabs/channel.ts", ["Versioned", "Seek", "Ping", "FromLeader", "ToHub", "Introduction", "Welcome", "ToFollower"]],
  ["host/host.ts", ["ToSession", "FromSession"]],
];
/** Numbers, names and operations, and the bytes of each request and response. */
const CONTRACT = [
  ...["contract.ts", "contract-administration.ts"].map((file) => `src/codec/${file}`),
  ...["requests.txt", "responses.txt"].map((file) => `../tests/behaviour/contract/${file}`),
];

const source = (file: string): Promise<string> => readFile(`src/${file}`, "utf8");

/** Code without its comments, imports and spaces: they say nothing to another tab. */
const bare = (code: string): string =>
  code
    .replace(/^import .*$/gm, "")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/\s+/g, "");

/** A declared type, to its end: the next declaration, constant or comment of the file's outermost level. */
function declared(code: string, name: string): string {
  const start = code.search(new RegExp(`^(export )?(interface|type) ${name}\\b`, "m"));
  assert.ok(start >= 0, `no type is called ${name} any more: name the new one here`);
  const rest = code.slice(start + 1);
  const end = rest.search(/^(export |interface |type |const |\/\*\*)/m);
  return end < 0 ? rest : rest.slice(0, end);
}

test("tabs of two releases understand each other, or PROTOCOL tells them apart", async () => {
  const parts: string[] = [];
  for (const [file, types] of MESSAGES) {
    const code = await source(file);
    for (const name of types) parts.push(bare(declared(code, name)));
  }
  // Tabs say the names of administrative operations, not their numbers.
  for (const file of CONTRACT) parts.push(bare(await readFile(file, "utf8")).replace(/:\d+(?=[+,])/g, ":"));
  assert.ok(parts.every((part) => part.length > 20));
  const digest = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);
  assert.deepEqual(
    { protocol: PROTOCOL, digest },
    KNOWN,
    `Messages between tabs have changed, or PROTOCOL. If a tab of the release before would misread them, raise PROTOCOL in src/tabs/channel.ts. Then set KNOWN here to { protocol: ${PROTOCOL}, digest: "${digest}" }.`,
  );
});
