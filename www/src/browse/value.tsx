/** A value in a cell, drawn by its type. */

import type { Value, ValueType } from "tabstore";

import { shortText, typeOf, visible } from "../lib/values.ts";

/** The value; nothing where the row has no such column. */
export function ValueText({ value, most }: { readonly value: Value | undefined; readonly most?: number | undefined }) {
  if (value === undefined)
    return (
      <span class="none" aria-label="no value">
        –
      </span>
    );
  if (value === "" || (value instanceof Uint8Array && value.length === 0)) return <span class="none">empty</span>;
  const type = typeOf(value);
  if (type === "BOOLEAN") return <span class={`tag ${value === true ? "good" : ""}`}>{String(value)}</span>;
  return <span class={`value ${type.toLowerCase()}`}>{shortText(value, most)}</span>;
}

/** A value that is a text already, because a person has typed it. */
export function TypedText({ type, text, most = 400 }: { readonly type: ValueType; readonly text: string; readonly most?: number | undefined }) {
  if (text === "") return <span class="none">empty</span>;
  return <span class={`value ${type.toLowerCase()}`}>{visible(text.length > most ? `${text.slice(0, most)}…` : text)}</span>;
}

/** Whether values of a column are numbers, which stand better to the right. */
export function isNumeric(value: Value | undefined): boolean {
  return typeof value === "number" || typeof value === "bigint";
}
