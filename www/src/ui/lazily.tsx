/** Pages that are loaded on first use, with the libraries that only they need. */

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";

import { ErrorNote } from "./notice.tsx";

/** A component that is loaded when it is shown for the first time. */
export function lazily<P extends object = object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loaded: FunctionComponent<P> | undefined;
  return function Lazy(props: P) {
    const [state, setState] = useState<{ readonly error?: unknown }>({});
    useEffect(() => {
      if (loaded !== undefined) return;
      load()
        .then((page) => {
          loaded = page;
        })
        .then(
          () => setState({}),
          (error: unknown) => setState({ error }),
        );
    }, []);
    const Page = loaded;
    if (Page !== undefined) return <Page {...props} />;
    return state.error === undefined ? (
      <p class="example-wait" role="status">
        Loading …
      </p>
    ) : (
      <ErrorNote error={state.error} />
    );
  };
}
