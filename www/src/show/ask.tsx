/** Asks the store for a row, and tells the path of the read. */

import { useState } from "preact/hooks";
import type { ReadTrace } from "tabstore";

import { text } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import type { ShowTexts } from "../texts/show.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { keyAt, missingKey, TABLE } from "./rows.ts";
import type { Show } from "./state.ts";

/** The props. */
interface AskProps {
  readonly texts: ShowTexts["ask"];
  readonly now: Show;
  readonly trace: ReadTrace | undefined;
  readonly onTrace: (trace: ReadTrace | undefined) => void;
}

/** The form, and the steps of the last read. */
export function Ask({ texts, now, trace, onTrace }: AskProps) {
  const [typed, setTyped] = useState("");
  const [said, setSaid] = useState("");
  const action = useAction();
  const ask = (id: string): void =>
    action.run(async () => {
      setTyped(id);
      const began = performance.now();
      const read = await logged("GetRow", TABLE, () => now.db.getRow({ tableName: TABLE, primaryKey: { id }, trace: true }));
      const ms = performance.now() - began;
      onTrace(read.trace);
      const { row, consumed } = read;
      const cells = row?.columnNames.map((name) => `${name} ${(row.columns[name] ?? []).map(({ value }) => text(value)).join(", ")}`).join("; ");
      setSaid(cells === undefined ? texts.missing(consumed.read, ms) : texts.found(cells, consumed.read, ms));
    });
  // A write of the middle: its row is most likely in a segment, not in the memtable.
  const middle = Math.floor(now.acknowledged / 2);
  return (
    <div class="stack show-ask">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          ask(typed);
        }}
      >
        <label>
          {texts.key}{" "}
          <input type="text" name="key" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary" aria-disabled={action.busy}>
          {texts.submit}
        </button>
        <button type="button" class="button" onClick={() => ask(keyAt(middle))}>
          {texts.present}
        </button>
        <button type="button" class="button" onClick={() => ask(missingKey(middle))}>
          {texts.absent}
        </button>
      </form>
      <ErrorNote error={action.error} />
      <p role="status">{said}</p>
      {trace !== undefined && (
        <>
          <p class="hint">{texts.colours}</p>
          <ol class="trace" aria-label={texts.path}>
            {trace.steps.map((step, at) => (
              <li key={at}>{texts.step(step)}</li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}
