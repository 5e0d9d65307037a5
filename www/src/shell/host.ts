/** What the shell gets from the page: files by a picker and as downloads, the samples by their names, and answers to questions. */

import { signal } from "@preact/signals";
import { type Database, double, inspectImport } from "tabstore";
import type { ShellHost } from "tabstore/shell";

import { offeredDataSets } from "../importing/data-sets.ts";
import { OPERATIONS, subjectOf } from "../lib/operations.ts";
import { logged } from "../state/calls.ts";
import { save } from "../ui/save.ts";

/** A question that waits for its answer. */
export interface Question {
  readonly text: string;
  readonly answer: (agreed: boolean) => void;
}

/** The question that is asked now. */
export const question = signal<Question | undefined>(undefined);

function ask(text: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      text,
      answer: (agreed) => {
        question.value = undefined;
        resolve(agreed);
      },
    };
  });
}

/** Lets the person choose a file. */
function pick(name: string): Promise<Blob> {
  return new Promise((resolve, reject) => {
    const input = document.createElement("input");
    input.type = "file";
    input.addEventListener("change", () => {
      const [file] = input.files ?? [];
      if (file === undefined) reject(new Error("no file was chosen"));
      else resolve(file);
    });
    input.addEventListener("cancel", () => reject(new Error(`no file was chosen; the page knows ${name} by no name`)));
    input.click();
  });
}

async function read(name: string): Promise<Blob> {
  if (!offeredDataSets().some(({ file }) => file === name)) return pick(name);
  const response = await fetch(`data/${name}`);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.blob();
}

/** The name of a file without its folders: a download has none. */
const lastPart = (name: string): string => name.split(/[/\\]/).at(-1) || "rows";

/** The host. */
export const HOST: ShellHost = {
  double,
  inspectImport,
  read,
  write: async (name, content) => {
    const file = await new Response(content).blob();
    // A browser gives a file of another type an ending of its own.
    save(file.slice(0, file.size, "application/octet-stream"), lastPart(name));
  },
  confirm: ask,
  files: async (prefix) =>
    offeredDataSets()
      .map(({ file }) => file)
      .filter((file) => file.startsWith(prefix)),
};

type Method = (...given: unknown[]) => Promise<object>;

/** A database whose calls are written down, as all of the console's are. */
export function noted(db: Database): Database {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const operation = OPERATIONS.get(String(name));
      const method = (value as Method).bind(target);
      return operation === undefined ? method : (...given: unknown[]) => logged(operation, subjectOf(target, given), () => method(...given));
    },
  });
}
