/** Tells bytes from other values, whatever their own code claims. */

/** The common getters of all typed arrays, in this frame and in other frames of the page. */
const TYPED_ARRAY = /* @__PURE__ */ Object.getOwnPropertyDescriptors(/* @__PURE__ */ Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array);

/** Whether a value is bytes, also from another frame of the page, and whatever its own code claims. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && TYPED_ARRAY[Symbol.toStringTag].get!.call(value) === "Uint8Array";
}

/** The length of bytes, whatever a class of the caller claims. */
export function lengthOf(bytes: Uint8Array): number {
  return TYPED_ARRAY.length.get!.call(bytes) as number;
}
