/** Requests that the shell has no line for. This package has them; of the SDKs only the way to go is told. */

import type { AddDefinedColumnRequest, BatchWriteItem, CreateIndexRequest, DeleteDefinedColumnRequest, DeleteRangeRequest, DropIndexRequest } from "tabstore";

/** One of them. */
export type OwnShown =
  | { readonly operation: "batchWriteRow"; readonly request: readonly BatchWriteItem[] }
  | { readonly operation: "deleteRange"; readonly request: DeleteRangeRequest }
  | { readonly operation: "createIndex"; readonly request: CreateIndexRequest }
  | { readonly operation: "dropIndex"; readonly request: DropIndexRequest }
  | { readonly operation: "addDefinedColumn"; readonly request: AddDefinedColumnRequest }
  | { readonly operation: "deleteDefinedColumn"; readonly request: DeleteDefinedColumnRequest };

/** What the clients of the service have in their place. */
const IN_SDK: Readonly<Record<OwnShown["operation"], string>> = {
  batchWriteRow: "The SDK's BatchWriteRow does it: a list of rows for each table, 200 rows a call.",
  deleteRange: "The service has no such call: read the range, and delete its rows by BatchWriteRow, 200 a call.",
  createIndex: "The SDK's CreateIndex does it.",
  dropIndex: "The SDK's DropIndex does it.",
  addDefinedColumn: "The SDK's AddDefinedColumn does it.",
  deleteDefinedColumn: "The SDK's DeleteDefinedColumn does it.",
};

/** Whether a request is one of them. */
export function isOwn(asked: { readonly operation: string }): asked is OwnShown {
  return asked.operation in IN_SDK;
}

/** What is said of it in a language that has no code for it. */
export function ownNote(language: "Shell" | "npm SDK" | "Python", { operation }: OwnShown): string {
  const comment = language === "npm SDK" ? "//" : "#";
  return `${comment} ${language === "Shell" ? `The shell has no line for it. In JavaScript: db.${operation}` : IN_SDK[operation]}\n`;
}
