/** The four attributes of a table [T4] as a form holds them, and the rules that they must keep [W1]. */

import type { TableDescription, TableOptions } from "tabstore";

/** The contents of the form: texts as typed. */
export interface OptionTexts {
  /** Whether versions live for ever. */
  readonly forever: boolean;
  /** Seconds that a version lives, unless for ever. */
  readonly timeToLive: string;
  readonly maxVersions: string;
  readonly maxVersionOffset: string;
  readonly allowUpdate: boolean;
}

/** The shortest time to live: a day, in seconds. */
export const LEAST_TIME_TO_LIVE = 86_400;

/** The options of a new table by default. */
export const DEFAULT_OPTIONS: OptionTexts = { forever: true, timeToLive: "", maxVersions: "1", maxVersionOffset: "86400", allowUpdate: true };

/** The options of a table, for its form. */
export function optionTexts(table: TableDescription): OptionTexts {
  const forever = table.timeToLive === -1;
  return {
    forever,
    timeToLive: forever ? "" : String(table.timeToLive),
    maxVersions: String(table.maxVersions),
    maxVersionOffset: String(table.maxVersionOffset),
    allowUpdate: table.allowUpdate,
  };
}

/** A whole number of at least `least` in a text; `undefined` when it is none. */
export function wholeNumber(typed: string, least: number): number | undefined {
  const value = /^\d+$/.test(typed.trim()) ? Number(typed) : Number.NaN;
  return Number.isSafeInteger(value) && value >= least ? value : undefined;
}

/** The error of each field; an empty object when there is none. */
export function optionErrors(texts: OptionTexts): Partial<Record<keyof OptionTexts, string>> {
  const errors: Partial<Record<keyof OptionTexts, string>> = {};
  if (!texts.forever && wholeNumber(texts.timeToLive, LEAST_TIME_TO_LIVE) === undefined) {
    errors.timeToLive = "At least 86,400 seconds (one day), or never expires.";
  }
  if (wholeNumber(texts.maxVersions, 1) === undefined) errors.maxVersions = "A whole number of at least 1.";
  if (wholeNumber(texts.maxVersionOffset, 1) === undefined) errors.maxVersionOffset = "A whole number of seconds, at least 1.";
  return errors;
}

/** The options that a correct form stands for. */
export function toOptions(texts: OptionTexts): Required<TableOptions> {
  return {
    timeToLive: texts.forever ? -1 : Number(texts.timeToLive),
    maxVersions: Number(texts.maxVersions),
    maxVersionOffset: Number(texts.maxVersionOffset),
    allowUpdate: texts.allowUpdate,
  };
}

/** Only those that differ from what the table has: the others are not sent. */
export function changedOptions(table: TableDescription, texts: OptionTexts): TableOptions {
  const wanted = toOptions(texts);
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => table[name as keyof TableOptions] !== value));
}
