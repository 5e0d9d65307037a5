/** A record of a stream as a person reads it: each column before and after. */

import type { StreamRecord, Value } from "tabstore";

/** What happened to a column. */
export interface ChangeLine {
  readonly name: string;
  /** The newest value before; `undefined`: it is not recorded, or there was none. */
  readonly before: Value | undefined;
  /** The value that was put; `undefined`: something was deleted. */
  readonly after: Value | undefined;
  /** The version that was put or deleted; `undefined`: all of them. */
  readonly version: number | undefined;
  readonly op: "PUT" | "DELETE" | "DELETE_ALL";
}

/** The columns of a record, by name. Columns that a replaced or deleted row had before and has no more stand there too. */
export function changeLines({ type, cells, original }: Pick<StreamRecord, "type" | "cells" | "original">): readonly ChangeLine[] {
  const lines = cells.map((cell): ChangeLine => {
    const after = cell.op === "PUT" ? cell.value : undefined;
    return { name: cell.name, before: original[cell.name], after, version: cell.op === "DELETE_ALL" ? undefined : cell.version, op: cell.op };
  });
  if (type === "UPDATE") return lines;
  const gone = Object.keys(original).filter((name) => !cells.some((cell) => cell.name === name));
  return [...lines, ...gone.map((name): ChangeLine => ({ name, before: original[name], after: undefined, version: undefined, op: "DELETE_ALL" }))];
}
