/** Something that takes a while: whether it is on its way, and why it failed. */

import { useState } from "preact/hooks";

/** The state of an action, and the way to start it. */
export interface Action {
  readonly busy: boolean;
  readonly error: unknown;
  /** Starts it; while one is on its way another is not started. */
  readonly run: (work: () => Promise<void>) => void;
  /** Says what is wrong without having started anything, or that nothing is. */
  readonly fail: (error: unknown) => void;
}

/** An action of a component. */
export function useAction(): Action {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error: unknown }>({ busy: false, error: undefined });
  const run = (work: () => Promise<void>) => {
    if (state.busy) return;
    setState({ busy: true, error: undefined });
    // Work may throw before its first await, for example on a text that is no number.
    Promise.resolve()
      .then(work)
      .then(
        () => setState({ busy: false, error: undefined }),
        (error: unknown) => setState({ busy: false, error }),
      );
  };
  return { ...state, run, fail: (error) => setState({ busy: false, error }) };
}
