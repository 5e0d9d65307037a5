/** The instance of an example: open while its page is shown. */

import { useEffect, useState } from "preact/hooks";
import { type Database, open, type OpenOptions } from "tabstore";

/** An instance that is opened, is open, or has failed. */
export interface ExampleInstance {
  readonly db?: Database;
  readonly error?: unknown;
  /** Opens it again, after a failure. */
  readonly again: () => void;
}

/**
 * Opens an instance for a component, and closes it when the component goes. The tabs share it.
 *
 * @param options read when it is opened.
 */
export function useInstance(name: string, options?: OpenOptions): ExampleInstance {
  const [state, setState] = useState<{ readonly db?: Database; readonly error?: unknown }>({});
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    const { signal } = control;
    setState({});
    const opening = open(name, { ...options, signal });
    opening.then(
      (db) => {
        if (signal.aborted) return;
        db.addEventListener(
          "health",
          ({ healthy, error }) => {
            if (!healthy && !signal.aborted) setState({ error: error ?? new Error("The engine stopped without saying why.") });
          },
          { signal },
        );
        setState({ db });
      },
      (error: unknown) => {
        if (!signal.aborted) setState({ error });
      },
    );
    return () => {
      control.abort();
      opening.then(
        (db) => db.close(),
        () => {},
      );
    };
  }, [name, tries]);
  return { ...state, again: () => setTries((count) => count + 1) };
}
