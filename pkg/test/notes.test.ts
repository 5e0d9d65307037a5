/** The data layer of a notes app, three times: by typed tables, by the calls of the service, and by Dexie. */

import "fake-indexeddb/auto";

import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import type { Plugin } from "esbuild";

import { compile, type Example } from "./support/examples.js";
import { skip } from "./support/package.js";
import { until } from "./support/turn.js";

const NAMES = ["typed", "service", "dexie"] as const;

interface Note {
  readonly id: number;
  readonly title: string;
  readonly text: string;
  readonly edited: Date;
  readonly tags: readonly string[];
}

/** What each of them exports. */
interface Layer {
  addNote(note: Note): Promise<void>;
  saveText(id: number, text: string): Promise<unknown>;
  history(id: number): Promise<string[]>;
  undo(id: number): Promise<string | undefined>;
  newest(after?: string | null): Promise<{ rows: Note[]; next: string | null }>;
  byPrefix(text: string): Promise<Note[]>;
  importNotes(file: Blob): Promise<number>;
  saveDraft(id: string, text: string): Promise<unknown>;
  loadDraft(id: string): Promise<string>;
  countView(): Promise<number>;
  tagCount(tag: string): Promise<number>;
  deleteTag(tag: string): Promise<void>;
  exportAll(): Promise<Blob>;
  restore(file: Blob): Promise<unknown>;
  live(show: (titles: string[]) => void): Promise<() => void>;
}

const fileOf = (name: string): string => path.resolve(`../examples/notes/${name}.ts`);
const textOf = (name: string): string => readFileSync(fileOf(name), "utf8");
const linesOf = (name: string): number =>
  textOf(name)
    .split("\n")
    .filter((line) => !/^\s*(\/\/.*)?$/.test(line)).length;

/** Finds the package's own build, whose databases are in memory, and what is installed here. */
const resolving: Plugin = {
  name: "resolving",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^tabstore$/ }, () => ({ path: "tabstore", namespace: "memory" }));
    onLoad({ filter: /./, namespace: "memory" }, () => ({
      contents: `export * from "./dist/node.js"; import * as all from "./dist/node.js"; export const open = (name, options) => all.open(name, { storage: "memory", ...options });`,
      resolveDir: ".",
    }));
    onResolve({ filter: /^tabstore\/schema$/ }, () => ({ path: path.resolve("dist/schema.js") }));
    onResolve({ filter: /dist\/node\.js$/ }, () => ({ path: pathToFileURL(path.resolve("dist/node.js")).href, external: true }));
    onResolve({ filter: /^(dexie|papaparse)$/ }, ({ path: name }) => ({ path: import.meta.resolve(name), external: true }));
  },
};

async function load(name: string): Promise<Layer> {
  const { build } = (await import(pathToFileURL(path.resolve("node_modules/esbuild/lib/main.js")).href)) as typeof import("esbuild");
  const outfile = path.resolve(`node_modules/.cache/tabstore-notes/${name}.mjs`);
  await build({ entryPoints: [fileOf(name)], outfile, bundle: true, format: "esm", target: "es2022", plugins: [resolving], logLevel: "error" });
  return (await import(pathToFileURL(outfile).href)) as Layer;
}

test("the newcomer's data layer has at most 50 lines and no cast; beside it the same by Dexie and by the service's calls", (t) => {
  t.diagnostic(NAMES.map((name) => `${name}: ${linesOf(name)} lines`).join(", "));
  assert.ok(linesOf("typed") <= 50);
  assert.ok(linesOf("typed") < linesOf("dexie"));
  const examples = NAMES.map((name): Example => ({ file: `examples/notes/${name}.ts`, line: 1, code: textOf(name), comment: false }));
  // Dexie's tables are told to the compiler by a cast, as its own documents do.
  assert.deepEqual(
    compile(examples).filter((one) => !/dexie\.ts:1: the example needs a cast/.test(one)),
    [],
  );
});

for (const name of NAMES) {
  test(`the data layer by ${name}: notes, history, pages, prefixes, tags, import, drafts, counts, export, live`, { skip }, async () => {
    const app = await load(name);
    const at = (second: number): Date => new Date(Date.now() - 100_000 + second * 1000);
    for (const [id, title] of ["alpha", "alps", "beta", "alarm"].entries())
      await app.addNote({ id, title, text: `text of ${title}`, edited: at(id), tags: id % 2 === 0 ? ["even", "x"] : ["x"] });
    let shown: string[] = [];
    const end = await app.live((titles) => (shown = titles));
    await until(() => shown.join() === "alarm,beta,alps,alpha");
    const tick = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 3));
    for (const text of ["one", "two"]) {
      await tick();
      await app.saveText(0, text);
    }
    await until(() => shown[0] === "alpha");
    assert.deepEqual(await app.history(0), ["two", "one", "text of alpha"]);
    assert.equal(await app.undo(0), "one");
    assert.deepEqual(await app.history(0), ["one", "text of alpha"]);
    await assert.rejects(app.saveText(99, "none"));
    const pages: string[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const { rows, next } = await app.newest(after);
      pages.push(rows.map(({ title }) => title).join());
      after = next;
      if (rows.length === 0) break;
    }
    assert.deepEqual(
      pages.filter((page) => page !== ""),
      ["alpha,alarm", "beta,alps"],
    );
    assert.deepEqual(
      (await app.byPrefix("al")).map(({ title }) => title),
      ["alarm", "alpha", "alps"],
    );
    assert.deepEqual(
      (await app.byPrefix("alpha")).map(({ id, text, tags }) => [id, text, tags]),
      [[0, "one", ["even", "x"]]],
    );
    assert.equal(await app.importNotes(new File(["nr,title\n10,gamma\n11,delta\n"], "notes.csv")), 2);
    assert.deepEqual(
      (await app.byPrefix("gamma")).map(({ id }) => id),
      [10],
    );
    await app.saveDraft("d", "half");
    assert.deepEqual([await app.loadDraft("d"), await app.loadDraft("none")], ["half", ""]);
    assert.deepEqual([await app.countView(), await app.countView()], [1, 2]);
    assert.deepEqual([await app.tagCount("x"), await app.tagCount("even")], [4, 2]);
    const file = await app.exportAll();
    await app.deleteTag("even");
    assert.deepEqual([await app.tagCount("even"), (await app.byPrefix("")).map(({ title }) => title)], [0, ["alarm", "alps", "delta", "gamma"]]);
    await app.restore(file);
    assert.deepEqual(
      [await app.tagCount("even"), (await app.byPrefix("al")).map(({ title }) => title), await app.history(0)],
      [2, ["alarm", "alpha", "alps"], ["one", "text of alpha"]],
    );
    end();
  });
}

test("nothing of the bundles stays", () => rmSync("node_modules/.cache/tabstore-notes", { recursive: true, force: true }));
