/** One request in four languages: what a dialog does, to take along. */

import type { TableDescription } from "tabstore";
import { linesOf, type ShellRequest } from "tabstore/shell";

import { type ImportShown, importJavascript, importLines } from "./import.ts";
import { javascript } from "./javascript.ts";
import { npmSdk } from "./npm-sdk.ts";
import { isOwn, ownNote, type OwnShown } from "./own.ts";
import { python } from "./python.ts";

/** The languages, in the order of their tabs. */
export const LANGUAGES = ["Shell", "JavaScript", "npm SDK", "Python"] as const;

/** One of them. */
export type Language = (typeof LANGUAGES)[number];

/** What a dialog does. */
export type Shown = ShellRequest | ImportShown | OwnShown;

/** A table, as far as the code needs it. */
export type KnownTable = Pick<TableDescription, "primaryKey"> & Partial<TableDescription>;

function shellText(request: ShellRequest, table: KnownTable | undefined): string {
  const { lines, leftOut } = linesOf(request, table);
  return [...leftOut.map((name) => `# The shell has no option for ${name}.`), ...lines, ""].join("\n");
}

/** The request with its keys in the order of the table's: the SDKs take them by place. */
function ordered(request: ShellRequest, table: KnownTable | undefined): ShellRequest {
  if (table === undefined || request.operation === "createTable") return request;
  const given: Record<string, unknown> = { ...request.request };
  for (const part of ["primaryKey", "start", "end"]) {
    const key = given[part] as Record<string, unknown> | undefined;
    if (key !== undefined) given[part] = Object.fromEntries(table.primaryKey.map(({ name }) => [name, key[name]]));
  }
  return { ...request, request: given } as unknown as ShellRequest;
}

/** Parts of a table that this page's code for the SDKs leaves out. */
function leftToYou(language: "npm SDK" | "Python", { operation, request }: ShellRequest): string {
  if (operation !== "createTable" && operation !== "updateTable") return "";
  const given: Readonly<Record<string, unknown>> = { ...request };
  const left = ["definedColumns", "indexes", "stream", "enableLocalTransaction"].filter((name) => given[name] !== undefined);
  return left.length === 0 ? "" : `${language === "Python" ? "#" : "//"} Left to you: ${left.join(", ")}.\n`;
}

/** What the SDKs have of an import: the table that it makes. */
function importInSdk(language: "npm SDK" | "Python", { request: { create } }: ImportShown, instance: string): string {
  const said = `${language === "Python" ? "#" : "//"} The SDK imports no files: write the rows by BatchWriteRow, 200 at a time.\n`;
  return create === undefined ? said : `${codeOf(language, { operation: "createTable", request: create }, instance, undefined)}${said}`;
}

/** The code of what a dialog does. */
export function codeOf(language: Language, asked: Shown, instance: string, table: KnownTable | undefined): string {
  if (asked.operation === "importRows") {
    if (language === "Shell") return importLines(asked);
    return language === "JavaScript" ? importJavascript(asked, instance) : importInSdk(language, asked, instance);
  }
  if (isOwn(asked)) return language === "JavaScript" ? javascript(asked, instance) : ownNote(language, asked);
  const request = ordered(asked, table);
  switch (language) {
    case "Shell":
      return shellText(request, table);
    case "JavaScript":
      return javascript(request, instance);
    case "npm SDK":
      return leftToYou(language, request) + npmSdk(request, instance);
    case "Python":
      return leftToYou(language, request) + python(request, instance, table);
  }
}
