/** Fields of plain objects. */

/** Sets a property of a plain object by any name: `__proto__` is a legal column name. */
export function setField<T>(object: Record<string, T>, name: string, value: T): void {
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
}

/** The fields of a row for `JSON.stringify`, which fails on a bigint and would write bytes as an object. */
export function jsonFields(fields: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "bigint") setField(fields, name, String(value));
    else if (value instanceof Uint8Array) setField(fields, name, Array.from(value));
  }
  return fields;
}
