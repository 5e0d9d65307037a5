/** The names of classes that people see, in consoles and messages. */

/** Gives a class, or the errors of a prototype, a name that stays: minifying takes the one in the code. */
export function named(one: object, name: string): void {
  Object.defineProperty(one, "name", { value: name, configurable: true, writable: true });
}
