/** A filter of rows as a person builds it: conditions on columns in groups, as the address and the form hold them. */

import type { Comparator, Filter, ValueType } from "tabstore";

import { parse, VALUE_TYPES } from "./values.ts";

/** One condition: texts as typed. */
export interface ConditionText {
  /** An attribute column or a key column. */
  readonly column: string;
  readonly comparator: Comparator;
  /** The type of the value. A value of another type never matches. */
  readonly type: ValueType;
  readonly text: string;
  /** Whether rows pass that do not meet it. */
  readonly not: boolean;
  /** Whether rows without the column pass, also behind `not`. A group around may turn that round. */
  readonly keepMissing: boolean;
}

/** Conditions and groups, and whether one of them is enough. */
export interface GroupText {
  readonly any: boolean;
  /** Whether rows pass that do not meet it. */
  readonly not: boolean;
  readonly parts: readonly PartText[];
}

/** A part of a group. */
export type PartText = ConditionText | GroupText;
/** A whole filter. Without parts all rows pass. */
export type FilterText = GroupText;

/** The comparators with their names, in the order in which they are offered. */
export const COMPARATORS: readonly (readonly [Comparator, string])[] = [
  ["EQUAL", "="],
  ["NOT_EQUAL", "≠"],
  ["GREATER_THAN", ">"],
  ["GREATER_EQUAL", "≥"],
  ["LESS_THAN", "<"],
  ["LESS_EQUAL", "≤"],
  ["EXIST", "exists"],
  ["NOT_EXIST", "is missing"],
];

/** The most comparisons and operators of a filter [R6]. */
const MOST_PARTS = 32;

/** No conditions: all rows. */
export const NO_FILTER: FilterText = { any: false, not: false, parts: [] };
/** A condition that nothing was typed in. */
export const NEW_CONDITION: ConditionText = { column: "", comparator: "EQUAL", type: "STRING", text: "", not: false, keepMissing: false };

/** Whether a part is a group. */
export function isGroup(part: PartText): part is GroupText {
  return "parts" in part;
}

/** Whether a comparator compares with a value. */
export function takesValue(comparator: Comparator): boolean {
  return comparator !== "EXIST" && comparator !== "NOT_EXIST";
}

/** How many conditions a group has, with those of the groups in it. */
export function conditionsIn({ parts }: GroupText): number {
  return parts.reduce((sum, part) => sum + (isGroup(part) ? conditionsIn(part) : 1), 0);
}

// ------------------------------------------------------------------------------------------------ the address

function conditionSaid({ column, comparator, type, text, not, keepMissing }: ConditionText): readonly string[] {
  return [column, comparator, ...(takesValue(comparator) ? [type, text] : []), ...(not ? ["not"] : []), ...(keepMissing ? ["or missing"] : [])];
}

/** A group as the address has it. One without conditions is left out. */
function groupSaid({ any, not, parts }: GroupText): readonly unknown[] | undefined {
  const said = parts.map((part) => (isGroup(part) ? groupSaid(part) : conditionSaid(part))).filter((one) => one !== undefined);
  if (said.length === 0) return undefined;
  const group = [any ? "any" : "all", ...said];
  return not ? ["not", group] : group;
}

/** The filter as the address has it; `undefined`: no conditions. */
export function formatFilter(filter: FilterText): string | undefined {
  const said = groupSaid(filter);
  return said === undefined ? undefined : JSON.stringify(said);
}

function conditionFrom(said: readonly unknown[]): ConditionText | undefined {
  if (!said.every((part): part is string => typeof part === "string")) return undefined;
  const [column = "", comparator, ...rest] = said;
  const known = COMPARATORS.find(([one]) => one === comparator)?.[0];
  if (known === undefined) return undefined;
  const [type, text] = takesValue(known) ? rest.splice(0, 2) : ["STRING", ""];
  const valueType = VALUE_TYPES.find((one) => one === type);
  if (valueType === undefined || text === undefined || rest.some((flag) => flag !== "not" && flag !== "or missing")) return undefined;
  return { column, comparator: known, type: valueType, text, not: rest.includes("not"), keepMissing: rest.includes("or missing") };
}

function groupFrom(said: readonly unknown[]): GroupText | undefined {
  const [word, ...rest] = said;
  if (word === "not") {
    const [inner, ...more] = rest;
    const group = Array.isArray(inner) && more.length === 0 ? groupFrom(inner) : undefined;
    return group === undefined || group.not ? undefined : { ...group, not: true };
  }
  const parts = rest.map(partFrom);
  if ((word !== "any" && word !== "all") || !parts.every((one) => one !== undefined)) return undefined;
  return { any: word === "any", not: false, parts };
}

/** A condition has its comparator in the second place, a group a list: a column may have any name. */
function partFrom(said: unknown): PartText | undefined {
  if (!Array.isArray(said)) return undefined;
  return Array.isArray(said[1]) ? groupFrom(said) : conditionFrom(said);
}

/** The filter that an address has. Throws an error for a text that is none: it would show other rows than were meant. */
export function parseFilter(said: string | undefined): FilterText {
  if (said === undefined) return NO_FILTER;
  let parts: unknown;
  try {
    parts = JSON.parse(said);
  } catch {
    parts = undefined;
  }
  const filter = Array.isArray(parts) ? groupFrom(parts) : undefined;
  if (filter === undefined) throw new Error("The address has a filter that cannot be read.");
  return filter;
}

// ------------------------------------------------------------------------------------------------ the package

/** A filter behind NOT, if that is wanted. */
const negated = (filter: Filter, not: boolean): Filter => (not ? { operator: "NOT", filters: [filter] } : filter);

function conditionFilter({ column, comparator, type, text, not, keepMissing }: ConditionText, place: string): Filter {
  if (column === "") throw new Error(`Condition ${place}: name the column.`);
  if (!takesValue(comparator)) return negated({ column, comparator }, not);
  try {
    // Behind NOT a row without the column has to fail inside to pass outside.
    return negated({ column, comparator, value: parse(type, text), passIfMissing: keepMissing !== not }, not);
  } catch (error) {
    throw new Error(`Condition ${place}, on ${column}: ${(error as Error).message}.`);
  }
}

function groupFilter({ any, not, parts }: GroupText, before: string): Filter | undefined {
  const filters = parts
    .map((part, at) => (isGroup(part) ? groupFilter(part, `${before}${at + 1}.`) : conditionFilter(part, `${before}${at + 1}`)))
    .filter((one) => one !== undefined);
  const joined: Filter | undefined = filters.length > 1 ? { operator: any ? "OR" : "AND", filters } : filters[0];
  return joined && negated(joined, not);
}

/** How many comparisons and operators a filter has. */
function size(filter: Filter): number {
  return "operator" in filter ? filter.filters.reduce((sum, one) => sum + size(one), 1) : 1;
}

/** The filter that the conditions stand for; `undefined`: none. Throws an error that names the rule that they break. */
export function toFilter(filter: FilterText): Filter | undefined {
  const made = groupFilter(filter, "");
  const parts = made === undefined ? 0 : size(made);
  if (parts > MOST_PARTS) throw new Error(`A filter has at most ${MOST_PARTS} comparisons and operators, and this one has ${parts}. Take conditions out.`);
  return made;
}
