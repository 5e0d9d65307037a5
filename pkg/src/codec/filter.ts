/**
 * Writes filters and column conditions. The contract has their kinds; a comparison is laid out here:
 *
 * ```text
 * name column | u8 comparator | value, not for EXIST and NOT_EXIST | u8 flags (1 pass if missing, 2 latest version only,
 * 4 transfer) | transfer
 * ```
 */

import { invalid } from "../types/errors.js";
import { Double } from "../types/double.js";
import { checkArguments, checkName, has, list, takeArguments } from "./check.js";
import { CAST_TYPE, COMPARATOR, FILTER, LOGICAL_OPERATOR } from "./contract.js";
import type { FieldWriter } from "./frame.js";
import { kindOf, shown } from "./kinds.js";
import { writeInteger, writeValue } from "./value.js";

const COLUMN = new Set(["column", "comparator", "value", "passIfMissing", "latestVersionOnly", "valueTransferRule"]);
const COMPOSITE = new Set(["operator", "filters"]);
const PAGE = new Set(["offset", "limit"]);
const RULE = new Set(["regex", "castType"]);
/** The most filters in a tree, the same limit as the engine's. The writer needs it too, because a tree could be endless. */
const MOST = 32;

function place(value: unknown, known: readonly string[], argument: string): number {
  const at = known.indexOf(value as string);
  if (at < 0) throw invalid(`The argument '${argument}' is ${shown(value)}; it must be one of ${Object.values(known).join(", ")}.`);
  return at;
}

function flag(value: unknown, argument: string): boolean {
  if (value !== undefined && typeof value !== "boolean") throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be true or false.`);
  return value ?? true;
}

/** A copy of a filter, so that later changes of the caller's objects do not reach it. {@link writeFilter} judges it. */
export function copyFilter(filter: unknown, what: string, count = { nodes: 0 }): unknown {
  if (typeof filter !== "object" || filter === null || ++count.nodes > MOST) return filter;
  if (has(filter, "operator")) {
    const copy = takeArguments<{ filters?: unknown }>(filter, COMPOSITE, what);
    if (Array.isArray(copy.filters)) copy.filters = list(copy.filters, `${what}.filters`).map((child, i) => copyFilter(child, `${what}.filters[${i}]`, count));
    return copy;
  }
  if (has(filter, "offset") || has(filter, "limit")) return takeArguments(filter, PAGE, what);
  const copy = takeArguments<{ valueTransferRule?: unknown }>(filter, COLUMN, what);
  if (copy.valueTransferRule !== undefined) copy.valueTransferRule = takeArguments(copy.valueTransferRule, RULE, `${what}.valueTransferRule`);
  return copy;
}

/** Writes a filter. `what` is the argument's name. */
export function writeFilter(w: FieldWriter, filter: unknown, what: string, count = { nodes: 0 }): void {
  if (++count.nodes > MOST) throw invalid(`The count of filter exceeds the max: ${MOST}. It is in '${what}'.`);
  if (typeof filter !== "object" || filter === null) throw invalid(`The argument '${what}' is ${kindOf(filter)}; it must be a filter, such as col("a").eq(1).`);
  if (has(filter, "operator")) {
    const { operator, filters } = checkArguments(filter, COMPOSITE, what);
    const children = list(filters, `${what}.filters`);
    w.u8(FILTER.Composite);
    w.u8(place(operator, LOGICAL_OPERATOR, `${what}.operator`));
    w.uv(children.length);
    for (let i = 0; i < children.length; i++) writeFilter(w, children[i], `${what}.filters[${i}]`, count);
  } else if (has(filter, "offset") || has(filter, "limit")) {
    const { offset, limit } = checkArguments(filter, PAGE, what);
    w.u8(FILTER.Page);
    writeInteger(w, offset, () => `the argument '${what}.offset'`);
    writeInteger(w, limit, () => `the argument '${what}.limit'`);
  } else {
    writeComparison(w, filter, what);
  }
}

function writeComparison(w: FieldWriter, filter: object, what: string): void {
  const { column, comparator, value, passIfMissing, latestVersionOnly, valueTransferRule } = checkArguments(filter, COLUMN, what);
  checkName(column, `${what}.column`);
  const number = place(comparator, COMPARATOR, `${what}.comparator`);
  let cast = -1;
  let regex: unknown;
  if (valueTransferRule !== undefined) {
    const rule = checkArguments(valueTransferRule, RULE, `${what}.valueTransferRule`);
    ({ regex } = rule);
    cast = place(rule.castType, CAST_TYPE, `${what}.valueTransferRule.castType`);
  }
  w.u8(FILTER.Column);
  w.name(column);
  w.u8(number);
  if (comparator !== "EXIST" && comparator !== "NOT_EXIST") {
    // With texts cast to doubles, 3 means 3.0: nothing else could match.
    writeValue(w, CAST_TYPE[cast] === "DOUBLE" && typeof value === "number" ? new Double(value) : value, column, "attribute");
  } else if (value !== undefined) {
    throw invalid(`The argument '${what}.value' is ${kindOf(value)}; ${comparator} takes none.`);
  }
  w.u8((flag(passIfMissing, `${what}.passIfMissing`) ? 1 : 0) | (flag(latestVersionOnly, `${what}.latestVersionOnly`) ? 2 : 0) | (cast < 0 ? 0 : 4));
  if (cast >= 0) {
    checkName(regex, `${what}.valueTransferRule.regex`);
    w.str(regex, `${what}.valueTransferRule.regex`);
    w.u8(cast);
  }
}
