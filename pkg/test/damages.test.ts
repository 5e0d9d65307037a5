/**
 * Damages of stored files in Node: each file of a closed instance, damaged in each way. An opening gives all rows or refuses by name, a
 * salvage gives what is left and lists what is not. `docs/SALVAGE.md` has the table.
 */

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import type { InstanceKind, OpenOptions } from "../src/index.js";
import { load, random, skip } from "./support/package.js";

const ROWS = 300;
type Damage = (bytes: Buffer, below: (most: number) => number) => Buffer | undefined;

const DAMAGES: Record<string, Damage> = {
  "a bit": (bytes, below) => {
    const damaged = Buffer.from(bytes);
    damaged[below(bytes.length)] ^= 1 << below(8);
    return damaged;
  },
  zeros: (bytes, below) => {
    const at = below(bytes.length);
    return Buffer.from(bytes).fill(0, at, Math.min(bytes.length, at + 200));
  },
  "its beginning": (bytes) => Buffer.from(bytes).fill(0, 0, Math.min(bytes.length, 60)),
  "cut off": (bytes, below) => bytes.subarray(0, below(bytes.length)),
  empty: () => Buffer.alloc(0),
  deleted: () => undefined,
  "bytes behind it": (bytes, below) => Buffer.concat([bytes, Buffer.from(Array.from({ length: 300 }, () => below(256)))]),
};

const value = (id: number): string => `${"x".repeat((id * 37) % 400)} ${id * 7919}`;

/** What an opening gives: `all`, `some` of the rows, or the code of a refusal. No row is ever wrong. */
async function found(folder: string, options: OpenOptions): Promise<{ what: string; missing: number }> {
  const { open } = await load();
  try {
    const db = await open("damaged", { storage: "files", path: folder, create: false, ...options });
    try {
      const missing = options.salvage ? (await db.missing()).length : 0;
      let rows = 0;
      // A salvage gives a table whose description is damaged another name.
      for (const tableName of await db.listTable()) {
        for await (const row of db.scan({ tableName })) {
          assert.equal(row.get("v"), value(Number(Object.values(row.primaryKey)[0])));
          rows += 1;
        }
      }
      return { what: rows === ROWS ? "all" : "some", missing };
    } finally {
      await db.close();
    }
  } catch (error) {
    if ((error as { code?: string }).code === undefined) throw error;
    return { what: (error as { code: string }).code, missing: 0 };
  }
}

for (const kind of ["high-performance", "capacity"] as const satisfies readonly InstanceKind[]) {
  test(`Q: whichever file is damaged in whichever way, an opening gives all rows or refuses, and a salvage gives and lists the rest (${kind})`, {
    skip,
  }, async (t) => {
    const { open } = await load();
    const root = mkdtempSync(path.join(os.tmpdir(), "tabstore-damages-"));
    t.after(() => rmSync(root, { recursive: true, force: true }));
    const whole = path.join(root, "whole");
    const db = await open("damaged", { storage: "files", path: whole, kind, durability: "relaxed", memtableBytes: 40_000 });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    for (let id = 0; id < ROWS; id++) await db.putRow({ tableName: "t", primaryKey: { id: (id * 7919) % ROWS }, attributes: { v: value((id * 7919) % ROWS) } });
    await db.close();

    const below = random(kind.length);
    const counts: Record<string, number> = {};
    const files = readdirSync(whole, { recursive: true })
      .map(String)
      .filter((name) => statSync(path.join(whole, name)).isFile());
    assert.ok(files.some((name) => /segment/.test(name)) && files.some((name) => /journal-1$/.test(name)), files.join());
    for (const file of files) {
      const bytes = readFileSync(path.join(whole, file));
      for (const [name, damage] of Object.entries(DAMAGES)) {
        for (let time = 0; time < (damage.length > 1 ? 3 : 1); time++) {
          const folder = path.join(root, "damaged");
          cpSync(whole, folder, { recursive: true });
          const damaged = damage(bytes, below);
          if (damaged === undefined) rmSync(path.join(folder, file));
          else writeFileSync(path.join(folder, file), damaged);
          const [what, salvage] = [await found(folder, {}), await found(folder, { salvage: true })];
          const told = `${file}, ${name}: ${what.what}, salvaged: ${salvage.what}, ${salvage.missing} missing`;
          assert.ok(["all", "Corrupt", "OTSObjectNotExist"].includes(what.what), told);
          // Only a journal without a whole commit leaves nothing to begin with.
          if (!["all", "some"].includes(salvage.what)) assert.match(`${file} ${name} ${salvage.what}`, /journal-0 (?:empty|deleted|cut off) Corrupt/, told);
          if (salvage.what === "some") assert.ok(salvage.missing > 0, told);
          counts[`${what.what} ${salvage.what}`] = 1 + (counts[`${what.what} ${salvage.what}`] ?? 0);
          rmSync(folder, { recursive: true });
        }
      }
    }
    for (const seen of ["all all", "Corrupt all", "Corrupt some", "Corrupt Corrupt"]) assert.ok(counts[seen]! > 0, JSON.stringify(counts));
    t.diagnostic(JSON.stringify(counts));
  });
}
