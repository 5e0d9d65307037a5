/** The field to write a message. */

import { useEffect, useRef, useState } from "preact/hooks";

import { ErrorNote } from "../../ui/notice.tsx";

/** Where the keyboard of a phone does not hide the conversation, the field has the focus at once. */
const WIDE = "(min-width: 761px)";

/** The field. Enter sends, Shift and Enter begin a new line. Messages go one after the other; a text that is not sent comes back. */
export function Composer({ room, send }: { readonly room: string; readonly send: (text: string) => Promise<void> }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>();
  const turn = useRef(Promise.resolve());
  useEffect(() => {
    if (matchMedia(WIDE).matches) field.current?.focus({ preventScroll: true });
  }, []);
  const submit = () => {
    const typed = text.trim();
    field.current?.focus({ preventScroll: true });
    if (typed === "") return;
    setText("");
    turn.current = turn.current
      .then(() => send(typed))
      .then(
        () => setError(undefined),
        (reason: unknown) => {
          setError(reason);
          setText((since) => (since === "" ? typed : `${typed}\n${since}`));
        },
      );
  };
  return (
    <form
      class="chat-composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <ErrorNote error={error} />
      <div class="chat-write">
        <textarea
          ref={field}
          rows={1}
          aria-label={`Message to ${room}`}
          placeholder="Write a message"
          value={text}
          maxLength={4000}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <button type="submit" class="button primary" aria-disabled={text.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}
