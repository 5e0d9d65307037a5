/** What the languages have in common: which kind a value of a request is. */

import type { AutoIncrement, Double, InfMax, InfMin, InputCell, InputValue, KeyValue } from "tabstore";

/** A value of a request, by its kind. */
export type Kind =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "integer"; readonly value: bigint }
  | { readonly kind: "double"; readonly value: number }
  | { readonly kind: "bytes"; readonly value: Uint8Array }
  | { readonly kind: "min" | "max" | "auto" };

/** The kind of a value. */
export function kindOf(value: InputValue | KeyValue | AutoIncrement | InfMin | InfMax): Kind {
  if (typeof value === "string") return { kind: "text", value };
  if (typeof value === "boolean") return { kind: "boolean", value };
  if (typeof value === "bigint") return { kind: "integer", value };
  if (typeof value === "number") return Number.isSafeInteger(value) ? { kind: "integer", value: BigInt(value) } : { kind: "double", value };
  if (value instanceof Uint8Array) return { kind: "bytes", value };
  if ("infinity" in value) return { kind: value.infinity };
  if ("autoIncrement" in value) return { kind: "auto" };
  return { kind: "double", value: (value as Double).value };
}

/** The cells of a column: a single value is one. */
export const cellsOf = (value: InputValue | readonly InputCell[]): readonly InputCell[] =>
  Array.isArray(value) ? (value as readonly InputCell[]) : [{ value: value as InputValue }];

/** A double as JavaScript and Python write it, with its sign and a fraction or an exponent. */
export function doubleText(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return /^-?\d+$/.test(String(value)) ? `${value}.0` : String(value);
}
