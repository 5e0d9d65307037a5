/** The value of a property, drawn by its type. */

import type { Property } from "../lib/entities.ts";

const CLASSES = {
  String: "string",
  Int32: "integer",
  Int64: "integer",
  Double: "double",
  Boolean: "",
  DateTime: "string",
  Binary: "binary",
  Guid: "binary",
} as const;

/** The value; nothing where the entity has no such property. */
export function PropertyText({ value, most = 120 }: { readonly value: Property | undefined; readonly most?: number | undefined }) {
  if (value === undefined)
    return (
      <span class="none" aria-label="no value">
        –
      </span>
    );
  const { type, text } = value;
  if (text === "") return <span class="none">empty</span>;
  if (type === "Boolean") return <span class={`tag ${text === "true" ? "good" : ""}`}>{text}</span>;
  return <span class={`value ${CLASSES[type]}`}>{text.length > most ? `${text.slice(0, most)}…` : text}</span>;
}

/** Whether a type is a number's, which stands better to the right. */
export function isNumber(type: Property["type"]): boolean {
  return type === "Int32" || type === "Int64" || type === "Double";
}
