/** Finds the kind of a JavaScript value, whatever its own code claims. */

/** The kind of a value, for the message that refuses it. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") {
    const name: unknown = (value as object).constructor?.name;
    return typeof name === "string" && name !== "" && name !== "Object" ? `a ${name}` : "an object";
  }
  return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
}

/** A value in a message: primitive values themselves, others by their kind. Runs no code of the caller's object. */
export function shown(value: unknown): string {
  if (typeof value === "string") return `'${value.length > 300 ? `${value.slice(0, 300)}…` : value}'`;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : kindOf(value);
}
