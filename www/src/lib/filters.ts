/** A filter of rows as a person builds it: conditions on columns, as the address and the form hold them. */

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
  /** Whether rows without the column pass, also behind `not`. */
  readonly keepMissing: boolean;
}

/** The conditions, and whether one of them is enough. */
export interface FilterText {
  readonly any: boolean;
  readonly conditions: readonly ConditionText[];
}

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
export const NO_FILTER: FilterText = { any: false, conditions: [] };
/** A condition that nothing was typed in. */
export const NEW_CONDITION: ConditionText = { column: "", comparator: "EQUAL", type: "STRING", text: "", not: false, keepMissing: false };

/** Whether a comparator compares with a value. */
export function takesValue(comparator: Comparator): boolean {
  return comparator !== "EXIST" && comparator !== "NOT_EXIST";
}

/** The filter as the address has it; `undefined`: no conditions. */
export function formatFilter({ any, conditions }: FilterText): string | undefined {
  if (conditions.length === 0) return undefined;
  const said = conditions.map(({ column, comparator, type, text, not, keepMissing }) => [
    column,
    comparator,
    ...(takesValue(comparator) ? [type, text] : []),
    ...(not ? ["not"] : []),
    ...(keepMissing ? ["or missing"] : []),
  ]);
  return JSON.stringify([any ? "any" : "all", ...said]);
}

function conditionFrom(said: unknown): ConditionText | undefined {
  if (!Array.isArray(said) || !said.every((part): part is string => typeof part === "string")) return undefined;
  const [column = "", comparator, ...rest] = said;
  const known = COMPARATORS.find(([one]) => one === comparator)?.[0];
  if (known === undefined) return undefined;
  const [type, text] = takesValue(known) ? rest.splice(0, 2) : ["STRING", ""];
  const valueType = VALUE_TYPES.find((one) => one === type);
  if (valueType === undefined || text === undefined || rest.some((flag) => flag !== "not" && flag !== "or missing")) return undefined;
  return { column, comparator: known, type: valueType, text, not: rest.includes("not"), keepMissing: rest.includes("or missing") };
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
  const [join, ...rest] = Array.isArray(parts) ? parts : [];
  const conditions = rest.map(conditionFrom);
  if ((join !== "any" && join !== "all") || !conditions.every((one) => one !== undefined)) throw new Error("The address has a filter that cannot be read.");
  return { any: join === "any", conditions };
}

function compared({ column, comparator, type, text, not, keepMissing }: ConditionText, place: number): Filter {
  if (column === "") throw new Error(`Condition ${place}: name the column.`);
  if (!takesValue(comparator)) return { column, comparator };
  try {
    // Behind NOT a row without the column has to fail inside to pass outside.
    return { column, comparator, value: parse(type, text), passIfMissing: keepMissing !== not };
  } catch (error) {
    throw new Error(`Condition ${place}, on ${column}: ${(error as Error).message}.`);
  }
}

/** The filter that the conditions stand for; `undefined`: none. Throws an error that names the rule that they break. */
export function toFilter({ any, conditions }: FilterText): Filter | undefined {
  const filters = conditions.map((one, at): Filter => {
    const filter = compared(one, at + 1);
    return one.not ? { operator: "NOT", filters: [filter] } : filter;
  });
  const parts = filters.length + conditions.filter(({ not }) => not).length + (filters.length > 1 ? 1 : 0);
  if (parts > MOST_PARTS) throw new Error(`A filter has at most ${MOST_PARTS} comparisons and operators, and this one has ${parts}. Take conditions out.`);
  return filters.length > 1 ? { operator: any ? "OR" : "AND", filters } : filters[0];
}
