/** The files of `import`, `export` and `-o`. */

import { createWriteStream, openAsBlob } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";

/** The path of a name: `~/` is the home folder. */
const pathOf = (name: string): string => (name.startsWith("~/") ? path.join(os.homedir(), name.slice(2)) : name);

/** Opens a file to read; its bytes are read when they are asked for. */
export function readBlob(name: string): Promise<Blob> {
  return openAsBlob(pathOf(name)) as Promise<unknown> as Promise<Blob>;
}

/** Writes a file: under another name until it is whole. */
export async function writeStream(name: string, content: ReadableStream<Uint8Array>): Promise<void> {
  const target = pathOf(name);
  const part = `${target}.part-${process.pid}`;
  try {
    await pipeline(Readable.fromWeb(content as NodeStream<Uint8Array>), createWriteStream(part));
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Names of files and folders that begin so. */
export async function namesOf(prefix: string): Promise<string[]> {
  const cut = prefix.lastIndexOf("/") + 1;
  const [folder, begin] = [prefix.slice(0, cut), prefix.slice(cut)];
  const found = await readdir(pathOf(folder === "" ? "." : folder), { withFileTypes: true }).catch(() => []);
  return found
    .filter((one) => one.name.startsWith(begin) && (begin !== "" || !one.name.startsWith(".")))
    .map((one) => `${folder}${one.name}${one.isDirectory() ? "/" : ""}`)
    .sort();
}

/** The lines of a history file, oldest first; none where it cannot be read. */
export async function readHistory(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

/** Writes the history, for its owner alone: lines hold data. */
export async function writeHistory(file: string, lines: readonly string[]): Promise<void> {
  // A folder that takes no file has no history.
  await writeFile(file, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 }).catch(() => {});
}
