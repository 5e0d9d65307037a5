/** Fields of plain objects. */

/** Sets a property of a plain object by any name: `__proto__` is a legal column name. */
export function setField<T>(object: Record<string, T>, name: string, value: T): void {
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
}
