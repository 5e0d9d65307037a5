/**
 * Notices traps of our WebAssembly only: a page may run other modules.
 *
 * All code of the module runs through its exports, also the callbacks of storage and timers. So a trap is seen where it
 * leaves an export. `build.mjs` puts {@link watch} around the exports in the generated glue.
 */

import { toError } from "../types/errors.js";

const listeners = new Set<(error: unknown) => void>();
let first: unknown;

/** The error of the first trap, if there was one. The module's memory is inconsistent from then on. */
export function trapped(): unknown {
  return first;
}

/** Calls `listener` when the module traps. Returns a function that stops that. */
export function onTrap(listener: (error: unknown) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The result of `run`, unless the module traps first: then it may never come. Calls `onDeath` at once in that case. */
export function unlessTrapped<T>(run: () => Promise<T>, onDeath: (error: unknown) => void = () => {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const unwatch = onTrap((error) => {
      onDeath(error);
      reject(toError(error));
    });
    (async () => run())().then(resolve, reject).finally(unwatch);
  });
}

/** A trap, or a stack overflow, which can happen in the middle of any change. Firefox has its own name for that. */
function isTrap(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError || (error instanceof Error && error.name === "InternalError");
}

/** The exports of a module, as functions that notice traps. */
export function watch(exports: WebAssembly.Exports): WebAssembly.Exports {
  return Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, typeof value === "function" ? watched(value) : value]));
}

/** Takes as many arguments as any export has: collecting them would cost more than most calls. */
function watched(run: Function): (...args: unknown[]) => unknown {
  // Modules of the code import exports of their own as they are; no JavaScript calls those.
  if (run.length > 8) {
    return () => {
      throw new TypeError("an export has more arguments than are passed on");
    };
  }
  return (a, b, c, d, e, f, g, h) => {
    try {
      return run(a, b, c, d, e, f, g, h);
    } catch (error) {
      if (isTrap(error)) {
        first ??= error;
        for (const listener of [...listeners]) listener(error);
      }
      throw error;
    }
  };
}
