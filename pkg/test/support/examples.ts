/** The examples of the READMEs and of the doc comments: finds them, and compiles them as an application would. */

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A block of code between two fences. */
export interface Example {
  /** Its file, seen from the folder of the package. */
  readonly file: string;
  /** The line of the file that its first line stands in, from 1. */
  readonly line: number;
  readonly code: string;
  /** Whether it stands in a doc comment. There the package's names need no import: an editor shows it beside them. */
  readonly comment: boolean;
}

/** The files with examples, seen from the folder of the package. */
const GUIDE = readdirSync("docs", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .sort();
const READMES = ["../README.md", "README.md", ...GUIDE.map((name) => `docs/${name}`), "../CHANGELOG.md"];
/** Languages of blocks other than TypeScript. Any other but js and ts is a mistake: such a block would go unchecked. */
const OTHER = new Set(["sh", "text"]);

/** The names that the examples of doc comments use without an import. */
const NAMES =
  "AUTO_INCREMENT, col, createInstance, deleteInstance, describeInstance, Double, double, type Filter, INF_MAX, INF_MIN, inspectImport, " +
  "listInstances, open, TabStoreError, WriterError";

/** The examples of a text. */
export function examplesOf(file: string, text: string): Example[] {
  const comment = file.endsWith(".ts");
  const found: Example[] = [];
  let open: { line: number; language: string; lines: string[] } | undefined;
  text.split("\n").forEach((whole, index) => {
    const line = comment ? whole.replace(/^\s*\* ?/, "") : whole;
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence === null) {
      open?.lines.push(line);
    } else if (open === undefined) {
      open = { line: index + 2, language: fence[1].trim(), lines: [] };
    } else {
      if (["js", "ts"].includes(open.language)) found.push({ file, line: open.line, code: open.lines.join("\n"), comment });
      else if (!OTHER.has(open.language))
        throw new Error(`${file}:${open.line - 1}: a block of '${open.language}', which nobody checks: js, ts, ${[...OTHER].join(", ")}`);
      open = undefined;
    }
  });
  if (open !== undefined) throw new Error(`${file}: the block that begins in line ${open.line - 1} does not end`);
  return found;
}

/** The blocks of a tutorial as one example, because each goes on where the one before it ended. Lines keep their numbers. */
function joined(blocks: readonly Example[]): Example[] {
  const lines: string[] = [];
  for (const { line, code } of blocks) {
    while (lines.length < line - blocks[0].line) lines.push("");
    lines.push(...code.split("\n"));
  }
  return blocks.slice(0, 1).map((first) => ({ ...first, code: lines.join("\n") }));
}

/** The examples of the READMEs and of the guide. */
export function readmeExamples(): Example[] {
  return READMES.flatMap((file) => {
    const blocks = examplesOf(file, readFileSync(file, "utf8"));
    return file.startsWith("docs/tutorials/") ? joined(blocks) : blocks;
  });
}

/** The examples of the doc comments. */
export function commentExamples(): Example[] {
  const names = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort();
  return names.flatMap((name) => {
    const file = path.join("src", name);
    const text = readFileSync(file, "utf8");
    const found = examplesOf(file, text);
    const promised = text.match(/\* @example$/gm)?.length ?? 0;
    if (promised > found.length) throw new Error(`${file}: ${promised} times @example, but ${found.length} blocks`);
    return found;
  });
}

/** Code that a user must not need to make an example compile. */
const FORCED: readonly [RegExp, string][] = [
  [/\bas\s+(?!const\b)/, "a cast"],
  [/[\w)\]]!(?!=)/, "a non-null assertion"],
  [/@ts-/, "a silenced error"],
  [/\bany\b/, "the type any"],
];

/** The code without its texts, imports and comments, but for those that the compiler obeys. */
const bare = (code: string): string => code.replace(/"(?:[^"\\\n]|\\.)*"|\/\/(?!\s*@).*$/gm, '""').replace(/^ *import .*$/gm, "");

/** The TypeScript that an application could have: all that is strict is on, and the package's own types are checked too. */
const STRICT = {
  target: "ES2022",
  module: "NodeNext",
  moduleResolution: "NodeNext",
  lib: ["ES2022", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
  types: [],
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitReturns: true,
  noImplicitOverride: true,
  noFallthroughCasesInSwitch: true,
  allowUnusedLabels: false,
  allowUnreachableCode: false,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
};

const tsc = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "--pretty", "false", ...args], { encoding: "utf8" });

/**
 * Compiles examples against the package as applications find it, by each of its entries; gives what is wrong with them, by
 * file and line. The package's types are made anew, so that they are those of the sources.
 */
export function compile(examples: readonly Example[]): string[] {
  const folder = path.resolve("node_modules/.cache/tabstore-examples");
  const installed = path.join(folder, "node_modules/tabstore");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  copyFileSync("package.json", path.join(installed, "package.json"));
  const made = tsc("--project", "tsconfig.build.json", "--outDir", path.join(installed, "dist/types"));
  if (made.status !== 0) throw new Error(`the package's types cannot be made:\n${made.stdout}${made.stderr}`);
  const files = readdirSync("test/examples");
  for (const name of files) {
    const text = readFileSync(path.join("test/examples", name), "utf8");
    if (/\bany\b/.test(text.replace(/\/\*[^]*?\*\//g, ""))) throw new Error(`${name} declares something as any, which fits everywhere`);
    writeFileSync(path.join(folder, name), text);
  }
  const from = new Map<string, Example>();
  for (const entry of ["tabstore", "tabstore/inline"]) {
    examples.forEach((example, index) => {
      const name = `${entry.replace("/", "-")}-${index}.ts`;
      // In the line of the first, so that the lines keep their numbers. It also makes a module of an example without imports.
      const head = example.comment ? `import { ${NAMES} } from "tabstore"; ` : "export {}; ";
      const code = /^import .* from "tabstore";/m.test(example.code) && example.comment ? example.code : head + example.code;
      writeFileSync(path.join(folder, name), `${code.replaceAll('"tabstore"', `"${entry}"`)}\n`);
      files.push(name);
      from.set(name, example);
    });
  }
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "application", private: true, type: "module" }));
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: STRICT, files }));
  const { status, stdout, stderr } = tsc("--project", path.join(folder, "tsconfig.json"));
  const wrong = new Set<string>();
  for (const example of examples) {
    for (const [pattern, what] of FORCED) if (pattern.test(bare(example.code))) wrong.add(`${example.file}:${example.line}: the example needs ${what}`);
  }
  // The types of other packages are their own affair.
  const isOurs = (line: string): boolean => !line.includes("node_modules/") || line.includes("tabstore-examples/");
  for (const line of stdout.split("\n").filter((one) => /\berror TS\d+/.test(one) && isOurs(one))) {
    const [, name, row, text] = /([^/\\]+)\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
    const example = from.get(name);
    wrong.add(example === undefined ? line : `${example.file}:${example.line + Number(row) - 1}: ${text}`);
  }
  if (status !== 0 && wrong.size === 0 && !/\berror TS\d+/.test(stdout)) throw new Error(`the examples were not compiled:\n${stdout}${stderr}`);
  return [...wrong];
}
