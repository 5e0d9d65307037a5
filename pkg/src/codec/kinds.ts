/** What a value of JavaScript is, whatever it says of itself. */

/** What a value is, for the message that refuses it. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") {
    const name: unknown = (value as object).constructor?.name;
    return typeof name === "string" && name !== "" && name !== "Object" ? `a ${name}` : "an object";
  }
  return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
}

/** A value in a message: primitive ones as they are, others by their kind. Never runs code of the caller's object. */
export function shown(value: unknown): string {
  if (typeof value === "string") return `'${value.length > 300 ? `${value.slice(0, 300)}…` : value}'`;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : kindOf(value);
}

/** What all typed arrays have in common, here and in other frames of the page. */
const TYPED_ARRAY = /* @__PURE__ */ Object.getOwnPropertyDescriptors(/* @__PURE__ */ Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array);

/** Whether a value is bytes, also when it comes from another frame of the page, and whatever it calls itself. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && TYPED_ARRAY[Symbol.toStringTag].get!.call(value) === "Uint8Array";
}

/** The length of bytes, whatever a class of the caller says of it. */
export function lengthOf(bytes: Uint8Array): number {
  return TYPED_ARRAY.length.get!.call(bytes) as number;
}
