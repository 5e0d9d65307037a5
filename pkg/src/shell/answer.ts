/** What a line answers: values, which a terminal and a page show in their own ways. */

import type { Consumed, Value, ValueType } from "../index.js";

/** What all answers tell. */
export interface AnswerFacts {
  /** Capacity units of the calls, if they have any. */
  readonly consumed?: Consumed;
  /** How long it took, in ms. */
  readonly ms: number;
  /** More to know about the answer, in a sentence. */
  readonly note?: string;
}

/** A value in a table, with the type that it has in the database; `undefined`: none. */
export type AnswerCell = { readonly value: Value; readonly type: ValueType } | undefined;

/** Rows under headings. */
export interface TableAnswer extends AnswerFacts {
  readonly kind: "table";
  readonly columns: readonly string[];
  readonly rows: readonly (readonly AnswerCell[])[];
}

/** One value as JSON. */
export interface JsonAnswer extends AnswerFacts {
  readonly kind: "json";
  /** The text, indented. Integers of 64 bits are exact in it. */
  readonly json: string;
}

/** A sentence, or the text of `help`. */
export interface TextAnswer extends AnswerFacts {
  readonly kind: "text";
  readonly text: string;
}

/** Something for the host to do: `clear` its screen, or `quit`. `none`: the line was empty. */
export interface HostAnswer extends AnswerFacts {
  readonly kind: "clear" | "quit" | "none";
}

/** What a line answers. */
export type Answer = TableAnswer | JsonAnswer | TextAnswer | HostAnswer;
