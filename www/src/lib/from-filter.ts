/** The conditions that a filter of the package stands for: what the shell takes comes into the form. */

import { type ColumnFilter, Double, double, type Filter, type InputValue, type TableDescription } from "tabstore";

import { type ConditionText, type FilterText, isGroup, NEW_CONDITION, type PartText, takesValue } from "./filters.ts";
import { text, typeOf } from "./values.ts";

/** A value with its type, as a person types it. */
function typed(value: InputValue): Pick<ConditionText, "type" | "text"> {
  if (value instanceof Double) return { type: "DOUBLE", text: text(value.value) };
  // As a row that is read has it: its integers are bigints.
  const plain = Number.isInteger(value) ? BigInt(value as number) : value;
  return { type: typeOf(plain), text: text(plain) };
}

function conditionOf(
  { column, comparator, value, passIfMissing = true, latestVersionOnly = true, valueTransferRule }: ColumnFilter,
  not: boolean,
): ConditionText {
  if (valueTransferRule !== undefined) throw new Error(`The form has no part of a value (valueTransferRule, on ${column}).`);
  if (!latestVersionOnly) throw new Error(`The form compares the newest version alone (latestVersionOnly, on ${column}).`);
  if (!takesValue(comparator)) return { ...NEW_CONDITION, column, comparator, not };
  if (value === undefined) throw new Error(`The comparison on ${column} has no value.`);
  return { column, comparator, ...typed(value), not, keepMissing: passIfMissing !== not };
}

function partOf(filter: Filter): PartText {
  if ("limit" in filter) throw new Error("The form has no pages of columns (offset and limit).");
  if (!("operator" in filter)) return conditionOf(filter, false);
  const { operator, filters } = filter;
  if (operator !== "NOT") return { any: operator === "OR", not: false, parts: filters.map(partOf) };
  const [inner] = filters;
  if (inner === undefined || filters.length > 1) throw new Error("NOT takes one filter.");
  if (!("operator" in inner) && !("limit" in inner)) return conditionOf(inner, true);
  const part = partOf(inner);
  return isGroup(part) && !part.not ? { ...part, not: true } : { any: false, not: true, parts: [part] };
}

/** The conditions of a filter of the package, as the shell has it. Throws an error that names what the form does not have. */
export function fromFilter(filter: Filter): FilterText {
  const part = partOf(filter);
  return isGroup(part) ? part : { any: false, not: false, parts: [part] };
}

/** The filter that a line of the shell has, or that stands alone as the shell takes it. */
export async function filterFromShell(said: string, table: TableDescription): Promise<FilterText> {
  const { quote, requestOf } = await import("tabstore/shell");
  const line = said.trim();
  const asked = requestOf(line.startsWith("{") ? `scan --filter ${quote(line)}` : line, table, double);
  const filter = asked?.operation === "scan" || asked?.operation === "getRow" ? asked.request.filter : undefined;
  if (filter === undefined) throw new Error("There is no filter in this line: a scan or a get has one behind --filter.");
  return fromFilter(filter);
}
