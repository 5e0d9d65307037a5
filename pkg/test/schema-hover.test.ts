/** What an editor shows of typed tables: the columns themselves, not the types that compute them. The compiler writes the same into declarations. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const types = path.resolve("dist/types/schema/index.d.ts");
const skip = !existsSync(types) && "the package has not been built";
const folder = path.resolve("node_modules/.cache/tabstore-hover");

const SOURCE = `
import { define, t, type TypedDatabase } from "${types.replace(/\.d\.ts$/, ".js")}";
const schema = define({
  note: { key: "id", columns: { id: t.integer, title: t.text, lat: t.double.optional, stars: t.integer.default(0) } },
  reading: { key: ["station", "at"], columns: { station: t.text, at: t.date, celsius: t.double }, indexes: { byAt: { key: ["at"], columns: [] } } },
});
declare const db: TypedDatabase<typeof schema>;
export const get = db.note.get(1);
export const put = (...[row]: Parameters<typeof db.note.put>) => row;
export const made = db.note.put(null!);
export const key = (...[one]: Parameters<typeof db.note.delete>) => one;
export const keys = (...[one]: Parameters<typeof db.reading.delete>) => one;
export const patch = (...[, one]: Parameters<typeof db.note.update>) => one;
export const counter = (...[, one]: Parameters<typeof db.note.increment>) => one;
export const range = (...[one]: Parameters<typeof db.reading.range>) => one;
export const where = (...[one]: Parameters<typeof db.note.where>) => one;
export const rows = db.note.toArray();
export const index = db.reading.by.byAt.first();
export const row = null! as typeof schema.note.Row;
`;

/** What the compiler says of each export, in one line. */
function shown(): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "hover.ts"), SOURCE);
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  const options =
    "--ignoreConfig --declaration --emitDeclarationOnly --strict --skipLibCheck --target es2022 --module nodenext --lib ES2023,ESNext.Disposable,DOM,DOM.AsyncIterable";
  const { stdout, status } = spawnSync(process.execPath, [path.resolve("node_modules/typescript/bin/tsc"), ...options.split(" "), "hover.ts"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
  const text = readFileSync(path.join(folder, "hover.d.ts"), "utf8")
    .replace(/import\("[^"]+"(?:, \{[^)]*\})?\)\./g, "")
    .replace(/\s+/g, " ");
  return Object.fromEntries(
    [...text.matchAll(/export declare const (\w+): (.*?);(?= (?:export|declare))/g)].map(([, name, type]) => [name, type.replace(/^\([^)]*\) => /, "")]),
  );
}

test("an editor shows the columns of rows, keys, changes and conditions", { skip }, () => {
  const note = "{ id: number; lat?: number | undefined; stars: number; title: string; }";
  const { where, row, ...rest } = shown();
  assert.deepEqual(rest, {
    get: `Promise<${note} | undefined>`,
    put: "{ id: number; lat?: number | undefined; stars?: number | undefined; title: string; }",
    made: "Promise<{ id: number; }>",
    key: "number | { id: number; }",
    keys: "{ at: Date; station: string; }",
    patch: "{ lat?: number | null | undefined; stars?: number | null | undefined; title?: string | undefined; }",
    counter: '"stars"',
    range: "Stretch<string> | { readonly at?: Date | Stretch<Date> | undefined; readonly station?: string | Stretch<string> | undefined; }",
    rows: `Promise<${note}[]>`,
    index: "Promise<{ at: Date; station: string; } | undefined>",
  });
  assert.match(where, /readonly title\?: string \| undefined.*columns: \{ readonly id: Comparisons<number>;/);
  assert.ok(!/RowOf|TableSpec/.test(row), row);
});
