/** The names of classes that people see, in consoles and messages. */

/** Gives a class, or the errors of a prototype, a name that stays: minifying takes the one in the code. */
export function named(one: object, name: string): void {
  Object.defineProperty(one, "name", { value: name, configurable: true, writable: true });
}

/**
 * Gives a class a name, and lets `instanceof` take instances of a class of that name from another entry of the package: a page may have
 * `tabstore` and `tabstore/cloud`, and each has classes of its own.
 */
export function shared(one: { readonly prototype: object }, name: string): void {
  named(one, name);
  const mark = Symbol.for(`tabstore.${name}`);
  Object.defineProperty(one.prototype, mark, { value: true });
  Object.defineProperty(one, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      // A class that an application derives has instances of its own.
      return this === one ? Object(value) === value && mark in (value as object) : Function.prototype[Symbol.hasInstance].call(this as Function, value);
    },
  });
}
