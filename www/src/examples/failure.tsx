/** An example that could not be opened, or has ended. */

import { ErrorNote } from "../ui/notice.tsx";

/** The reason, and a button to try again. */
export function Failure({ error, again }: { readonly error: unknown; readonly again: () => void }) {
  return (
    <div class="stack">
      <ErrorNote error={error} />
      <div>
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
      </div>
    </div>
  );
}
