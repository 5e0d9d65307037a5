/** Lines to change and run, and the store's answers. */

import { useState } from "preact/hooks";

import { EntryView } from "../shell/answers.tsx";
import { elapsed } from "../lib/format.ts";
import type { FrameTexts } from "../texts/lessons.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";
import type { Classroom } from "./classroom.ts";
import { OWN_WORDS } from "./words.ts";

/** The props. */
interface EditorProps {
  readonly texts: FrameTexts;
  readonly room: Classroom;
  readonly lines: readonly string[];
  /** What is said while the lines may not run yet. */
  readonly hold?: string | undefined;
  readonly onRun: (lines: readonly string[]) => Promise<void>;
}

/** The editor. */
export function Editor({ texts, room, lines, hold, onRun }: EditorProps) {
  const [text, setText] = useState(lines.join("\n"));
  const action = useAction();
  return (
    <form
      class="stack lesson-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (hold === undefined) action.run(() => onRun(text.split("\n")));
      }}
    >
      <textarea
        aria-label={texts.lines}
        rows={Math.max(3, lines.length + 1)}
        value={text}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="row">
        <button type="submit" class="button primary" aria-disabled={action.busy || hold !== undefined}>
          {texts.runIt}
        </button>
        <span class="hint" role="status">
          {hold ?? ""}
        </span>
      </div>
      <p class="hint">{texts.linesHint(OWN_WORDS.join(", "))}</p>
      <ErrorNote error={action.error} />
      {room.reopenedMs.value !== undefined && <p class="lesson-killed">{texts.killed(elapsed(room.reopenedMs.value))}</p>}
      <ol class="lesson-answers" aria-label={texts.answers} aria-live="polite" lang="en">
        {room.entries.value.map((entry) => (
          <EntryView key={entry.id} entry={entry} />
        ))}
      </ol>
    </form>
  );
}
