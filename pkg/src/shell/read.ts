/** The request that a line stands for, without running it. */

import { parseLine } from "./parse.js";
import { alterRequest, createRequest, Options, rowRequest, type ShellRequest, type TableKey } from "./request.js";
import type { MakeDouble } from "./values.js";

/**
 * The request that a line stands for; `undefined` for a line that is about files, or changes and reads nothing (`use`, `list`, `help`).
 *
 * @param table The table that is used: lines about rows name their keys by place.
 * @throws {@link ShellError} for a wrong line.
 */
export function requestOf(line: string, table: TableKey | undefined, double: MakeDouble): ShellRequest | undefined {
  const parsed = parseLine(line);
  if (parsed === undefined || parsed.options.has("input")) return undefined;
  const options = new Options(parsed, double);
  switch (parsed.command) {
    case "create":
      return { operation: "createTable", request: createRequest(options) };
    case "alter":
      return { operation: "updateTable", request: alterRequest(parsed, options, options.text("table") ?? table?.tableName ?? "") };
    case "drop":
      return { operation: "deleteTable", request: { tableName: options.text("table")! } };
    case "put":
    case "update":
    case "delete":
    case "get":
    case "scan":
      return table === undefined ? undefined : rowRequest(parsed, options, table, double);
    default:
      return undefined;
  }
}
