// Real texts in many scripts, as files to import. They are made of npm packages of data (development dependencies of pkg). The
// tables must then hold their rows, value by value and byte by byte. Node, pages, workers and the console import the same
// files.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { tier } from "../../report.mjs";

const require = createRequire(new URL("../../../pkg/package.json", import.meta.url));

/** Lists of a locale that are longer are cut: more of the same takes time and shows nothing. */
const LONGEST = 60;

/** One of so many rows is taken. */
const SHARE = tier === "full" ? 1 : 4;

/** The scripts that are reported. Latin counts where it is not ASCII. */
const SCRIPTS = {
  "accented Latin": /(?!\p{ASCII})\p{Script=Latin}|\p{Script=Latin}\p{M}/u,
  emoji: /\p{Extended_Pictographic}|\p{Regional_Indicator}/u,
};
for (const script of [
  "Greek",
  "Cyrillic",
  "Armenian",
  "Georgian",
  "Hebrew",
  "Arabic",
  "Thaana",
  "Ethiopic",
  "Devanagari",
  "Bengali",
  "Gurmukhi",
  "Gujarati",
  "Oriya",
  "Tamil",
  "Telugu",
  "Kannada",
  "Malayalam",
  "Sinhala",
  "Thai",
  "Lao",
  "Tibetan",
  "Myanmar",
  "Khmer",
  "Canadian_Aboriginal",
  "Yi",
  "Han",
  "Hiragana",
  "Katakana",
  "Hangul",
])
  SCRIPTS[script] = new RegExp(`\\p{Script=${script}}`, "u");

const keyOf = (...columns) => columns.map((name) => ({ name, type: "STRING" }));

/** A row; an empty text is no value, as in a CSV file. */
const row = (primaryKey, attributes) => ({
  primaryKey,
  attributes: Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== "" && value !== undefined)),
});

const flat = ({ primaryKey, attributes }) => ({ ...primaryKey, ...attributes });

/** The first characters of a text: many short texts that are not ASCII are what the codec once stored wrong. */
const begin = (text, count) => [...text].slice(0, count).join("");

function csv(rows, delimiter, newline) {
  const names = [...new Set(rows.flatMap((one) => Object.keys(flat(one))))];
  const field = (value = "") => (/["\r\n\t,;|]|^\s|\s$/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const lines = rows.map((one) => names.map((name) => field(flat(one)[name])).join(delimiter));
  return `${[names.join(delimiter), ...lines].join(newline)}${newline}`;
}

/** JSON of a row; every third one says with escapes what is not ASCII. */
function json(one, place) {
  const text = JSON.stringify(flat(one));
  return place % 3 === 0 ? text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`) : text;
}

const ndjson = (rows) => rows.map((one, place) => `${json(one, place)}\n`).join("");

/** The language files of a package. */
function* byLanguage(name, member) {
  const folder = path.join(path.dirname(require.resolve(`${name}/package.json`)), "langs");
  for (const file of readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort())
    yield [path.basename(file, ".json"), require(path.join(folder, file))[member]];
}

/** Names of countries in 80 languages, and each country's own. */
function countries() {
  const { countries: own } = require("countries-list");
  const rows = [];
  for (const [language, names] of byLanguage("i18n-iso-countries", "countries")) {
    for (const [country, given] of Object.entries(names)) {
      const [name, ...others] = [given].flat();
      rows.push(row({ language, country }, { name, others: others.join(" | "), first: begin(name, 1), own: own[country]?.native }));
    }
  }
  return {
    name: "countries.csv",
    format: "csv",
    tableName: "country",
    primaryKey: keyOf("language", "country"),
    rows,
    write: (rows) => csv(rows, ",", "\r\n"),
  };
}

/** Names of languages in 32 languages, and each language's own as two packages write it. */
function languages() {
  const { languages: own } = require("countries-list");
  const codes = require("iso-639-1");
  const rows = [];
  for (const [language, names] of byLanguage("@cospired/i18n-iso-languages", "languages")) {
    for (const [code, name] of Object.entries(names)) {
      rows.push(row({ language, code }, { name, two: begin(name, 2), own: codes.getNativeName(code), native: own[code]?.native }));
    }
  }
  return { name: "languages.tsv", format: "csv", tableName: "language", primaryKey: keyOf("language", "code"), rows, write: (rows) => csv(rows, "\t", "\n") };
}

/** The commonest words of 57 languages, and the words of wallets' seeds: keys that are mostly not ASCII. */
function words() {
  const rows = [];
  const lists = Object.entries(require("stopwords-iso")).map(([language, list]) => [`common ${language}`, list]);
  const folder = path.dirname(require.resolve("bip39/src/wordlists/japanese.json"));
  for (const file of readdirSync(folder).sort()) lists.push([`seed ${path.basename(file, ".json")}`, require(path.join(folder, file))]);
  for (const [list, all] of lists) {
    [...new Set(all)]
      .slice(0, 20 * LONGEST)
      .forEach((word, place) => rows.push(row({ list, word }, { place, first: begin(word, 1), two: begin(word, 2), word_again: word })));
  }
  return { name: "words.ndjson", format: "ndjson", tableName: "word", primaryKey: keyOf("list", "word"), rows, write: (rows) => ndjson(rows) };
}

/** Emoji with their names and keywords. */
function emoji() {
  const keywords = require("emojilib");
  const rows = Object.entries(require("unicode-emoji-json")).map(([emoji, { name, group, emoji_version: since, skin_tone_support: tones }]) =>
    row({ emoji }, { name, group, since, tones, parts: [...emoji].length, keywords: keywords[emoji]?.join(" "), thrice: emoji.repeat(3) }),
  );
  return { name: "emoji.json", format: "json", tableName: "emoji", primaryKey: keyOf("emoji"), rows, write: (rows) => `[\n${rows.map(json).join(",\n")}\n]\n` };
}

/** Names of people or places in the locales of a generator of test data. */
async function invented(part) {
  const { allLocales } = await import(pathToFileURL(require.resolve("@faker-js/faker")).href);
  const rows = [];
  const walk = (locale, kind, value) => {
    if (Array.isArray(value)) {
      // Others are patterns to fill in.
      const names = value.filter((name) => typeof name === "string" && name !== "" && !/\{\{|#/.test(name)).slice(0, LONGEST);
      names.forEach((name, n) => rows.push(row({ locale, kind, n: n + 1 }, { name, initial: begin(name, 1), beginning: begin(name, 2) })));
    } else if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) walk(locale, `${kind}_${name}`, inner);
    }
  };
  for (const [locale, all] of Object.entries(allLocales)) walk(locale, part, all[part]);
  return { rows, primaryKey: [...keyOf("locale", "kind"), { name: "n", type: "INTEGER" }] };
}

async function people() {
  const { rows, primaryKey } = await invented("person");
  return { name: "people.csv", format: "csv", tableName: "person", primaryKey, rows, write: (rows) => csv(rows, ";", "\n") };
}

async function places() {
  const { rows, primaryKey } = await invented("location");
  return { name: "places.ndjson", format: "ndjson", tableName: "place", primaryKey, rows, write: (rows) => ndjson(rows) };
}

/**
 * The files, each `{ name, format, bytes, tableName, primaryKey, rows }`. A test imports `bytes` into the table of this
 * name and key. `rows` are the rows that must be in it then, `{ primaryKey, attributes }`. Texts are STRING, whole
 * numbers INTEGER, and an import needs to be told nothing but the format. All rows come where everything runs, else a part of them.
 */
export async function foreignFiles() {
  const files = [countries(), languages(), words(), emoji(), await people(), await places()];
  return files.map(({ rows: all, write, ...file }) => {
    const rows = all.filter((_, at) => at % SHARE === 0);
    return { ...file, rows, bytes: new TextEncoder().encode(write(rows)) };
  });
}

/** The contents of rows: how many rows, texts and bytes of texts, in which scripts. */
export function figures(rows) {
  const found = { rows: 0, texts: 0, short: 0, bytes: 0, scripts: new Set() };
  const wanted = new Map(Object.entries(SCRIPTS));
  for (const one of rows) {
    found.rows += 1;
    for (const value of Object.values(flat(one))) {
      if (typeof value !== "string") continue;
      found.texts += 1;
      found.bytes += Buffer.byteLength(value);
      if (!/[^\0-\x7f]/.test(value)) continue;
      if (value.length <= 4 && [...value].length <= 2) found.short += 1;
      for (const [script, letters] of wanted) if (letters.test(value) && found.scripts.add(script)) wanted.delete(script);
    }
  }
  return found;
}

/** The figures in one line. `short`: texts of one or two characters that are not ASCII. */
export const told = ({ rows, texts, short, bytes, scripts }) =>
  `${rows} rows, ${texts} texts (${short} of 1 or 2 foreign characters), ${bytes} bytes, ${scripts.size} scripts`;

/**
 * Asserts that the rows found are those expected, in any order: the same keys and columns, the same values. Texts that are the
 * same have the same bytes. A row is `{ primaryKey, attributes }`. Gives the bytes of texts that were compared.
 */
export function compareRows(expected, found, where) {
  const keys = Object.keys(expected[0].primaryKey).sort();
  const name = ({ primaryKey }) => JSON.stringify([Object.keys(primaryKey).length, ...keys.map((key) => primaryKey[key])]);
  const left = new Map(expected.map((one) => [name(one), one]));
  assert.equal(left.size, expected.length, `${where}: a key is expected twice`);
  let bytes = 0;
  for (const one of found) {
    const wanted = left.get(name(one));
    assert.ok(wanted, `${where}: nobody put the row ${name(one)}`);
    left.delete(name(one));
    for (const part of ["primaryKey", "attributes"]) {
      const [is, must] = [one[part], wanted[part]];
      const columns = Object.keys(must);
      if (columns.length !== Object.keys(is).length || columns.some((column) => is[column] !== must[column]))
        assert.deepEqual({ ...is }, { ...must }, `${where}: row ${name(one)}`);
      for (const column of columns) {
        if (typeof must[column] === "string") bytes += Buffer.byteLength(must[column]);
      }
    }
  }
  assert.equal(left.size, 0, `${where}: ${left.size} rows are missing, the first ${left.keys().next().value}`);
  return bytes;
}
