/** The catalogues of texts: both languages have the same members, and nothing that a lesson says is outside of them. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { LESSONS } from "../src/lessons/lesson.ts";
import { CODE_TEXTS } from "../src/texts/code.ts";
import { FRAME_TEXTS, LESSON_TEXTS } from "../src/texts/lessons.ts";
import { SHOW_TEXTS } from "../src/texts/show.ts";

const HAN = /\p{Script=Han}/u;
const SEED = 7;

/** The places of all members, with what kind each is. */
function members(value: unknown, place = ""): string[] {
  if (typeof value !== "object" || value === null) return [`${place}: ${typeof value}`];
  return Object.entries(value).flatMap(([name, member]) => members(member, `${place}.${name}`));
}

/** All plain texts. */
function plain(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(plain) : [];
}

test("both catalogues have the same members, and the Chinese one is in Chinese", async () => {
  for (const catalogues of [SHOW_TEXTS, FRAME_TEXTS, CODE_TEXTS, ...LESSON_TEXTS]) {
    const [en, zh] = [await catalogues.en(), await catalogues.zh()];
    assert.deepEqual(members(zh), members(en));
    assert.deepEqual(
      plain(en).filter((text) => HAN.test(text)),
      [],
    );
    // Names and numbers are the same in both.
    assert.deepEqual(
      plain(zh).filter((text) => /[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}/.test(text)),
      [],
    );
  }
  assert.equal(LESSON_TEXTS.length, LESSONS);
});

test("a lesson has fewer than 400 words, an explanation at most 60, and three answers to choose from", async () => {
  for (const catalogues of LESSON_TEXTS) {
    const texts = await catalogues.en();
    const words = (text: string): number => text.split(/\s+/).length;
    assert.ok(words(texts.explain) <= 60, texts.explain);
    assert.ok(words([...plain(texts), texts.task(SEED), texts.harder(SEED)].join(" ")) < 400, texts.goal);
    assert.equal(texts.options.length, 3);
  }
});

const root = ["src", "www/src"].map((folder) => path.resolve(folder)).find((folder) => existsSync(path.join(folder, "lessons/eight")))!;
const sources = (folder: string): (readonly [string, string])[] =>
  readdirSync(path.join(root, folder))
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => [`${folder}/${name}`, readFileSync(path.join(root, folder, name), "utf8")] as const);

test("every message of a check is in both catalogues, and each of the catalogue's is used", async () => {
  for (const [name, source] of sources("lessons/eight")) {
    const number = Number(/number: (\d)/.exec(source)?.[1]);
    const texts = await LESSON_TEXTS[number - 1]!.en();
    const returned = new Set([...source.matchAll(/(?:return|\?|:) "([a-z]+[A-Za-z]*)"(?=;| :)/g)].map(([, message]) => message));
    assert.deepEqual([...returned].sort(), Object.keys(texts.messages).sort(), name);
  }
});

test("no sentence of lessons and show stands outside the catalogues", () => {
  for (const [name, source] of [...sources("lessons"), ...sources("show"), ...sources("code")].filter(([name]) => name.endsWith(".tsx"))) {
    const shown = [...source.matchAll(/>([^<>{}=;()]*[A-Za-z]{3,}[^<>{}=;()]*)<\//g)].map(([, text]) => text?.trim());
    assert.deepEqual(shown, [], name);
    const labels = [...source.matchAll(/(?:aria-label|title|placeholder)="([^"]+)"/g)].map(([, text]) => text);
    assert.deepEqual(labels, [], name);
  }
});
