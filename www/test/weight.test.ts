/** What a visitor downloads before the console is seen, and what comes with one view alone. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const DIST = new URL("dist/", pathToFileURL(`${process.cwd()}/`));
const FIRST_PAINT_BYTES = 100_000;

const bytesOf = (file: string): number => gzipSync(readFileSync(new URL(file, DIST)), { level: 9 }).length;
const sum = (files: readonly string[]): number => files.map(bytesOf).reduce((all, bytes) => all + bytes, 0);

/** The scripts and styles that the page names. */
function firstPaint(): string[] {
  const page = readFileSync(new URL("index.html", DIST), "utf8");
  const found = [...page.matchAll(/<(?:script|link)\b[^>]*\b(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, file]) => file!);
  assert.ok(found.some((file) => file.endsWith(".js")) && found.some((file) => file.endsWith(".css")), "the page names its files");
  return found;
}

test("W1: the first paint takes at most 100 kB of scripts and styles, gzip", (t) => {
  const bytes = sum(firstPaint());
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= FIRST_PAINT_BYTES, `${bytes} bytes`);
});

test("W1: the parser of programs comes with the code view alone, neither with its worker nor with the code of dialogs", () => {
  const files = readdirSync(new URL("assets/", DIST)).filter((file) => file.endsWith(".js"));
  const parsing = files.filter((file) => readFileSync(new URL(`assets/${file}`, DIST), "utf8").includes("ImportDeclaration"));
  assert.deepEqual(
    parsing.map((file) => file.split("-")[0]),
    ["code"],
  );
});
