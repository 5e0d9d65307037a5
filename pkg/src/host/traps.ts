/**
 * Notices when our WebAssembly traps, and only ours: a page may run other modules, whose errors are none of our business.
 *
 * Every way into the module leads through its exports, also the callbacks of storage and timers, so a trap is seen where it
 * leaves them. `build.mjs` puts {@link watch} around the exports in the generated glue.
 */

const listeners = new Set<(error: unknown) => void>();
let first: unknown;

/** The error of the trap, once there was one: the module's memory is in the middle of something for good. */
export function trapped(): unknown {
  return first;
}

/** Has `listener` called when the module traps; gives what ends that. */
export function onTrap(listener: (error: unknown) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** A trap, or the end of the stack, which can come in the middle of anything too; Firefox has a name of its own for that. */
function isTrap(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError || (error instanceof Error && error.name === "InternalError");
}

/** The exports of a module, as functions that notice traps. */
export function watch(exports: WebAssembly.Exports): WebAssembly.Exports {
  return Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, typeof value === "function" ? watched(value) : value]));
}

/** With so many arguments as any export has: collecting them would cost every call more than most calls do. */
function watched(run: Function): (...args: unknown[]) => unknown {
  if (run.length > 8) throw new TypeError("an export has more arguments than are passed on");
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
