/** A modal dialog: the browser's own `<dialog>`, which keeps the keyboard inside and gives it back at the end. */

import { type ComponentChildren, createContext } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { focusAfterDialog, focusStart } from "./focus.ts";
import { Icon } from "./icon.tsx";
import { fieldOf, Typed } from "./typed.ts";

/** What a dialog does for its content. */
interface Around {
  /** Leaves it without a question, for what shows another part of the page. */
  readonly leave: () => void;
  /** What stands in its fields now is stored: nothing of it can be lost. */
  readonly taken: () => void;
}

/** The dialog around; elsewhere there is none to leave. */
export const AroundDialog = createContext<Around>({ leave: () => {}, taken: () => {} });

/** The props of a dialog. */
interface DialogProps {
  readonly title: string;
  /** Called when the person leaves it: by Escape, by the cross, or by a button that says so. */
  readonly onClose: () => void;
  /** Called when its form is submitted; without it the dialog has no form. */
  readonly onSubmit?: (() => void) | undefined;
  /** `side`: along the side of the page, from its top to its foot. */
  readonly size?: "narrow" | "wide" | "full" | "side" | undefined;
  /** Which of its steps is shown: another one takes the focus to its beginning. */
  readonly step?: string | undefined;
  /** Whether its fields begin with what a person typed and what was not stored. */
  readonly unstored?: boolean | undefined;
  readonly children: ComponentChildren;
  /** The buttons at its foot. */
  readonly footer?: ComponentChildren;
}

/** The question in place of the buttons. */
function Discard({ onDiscard, onKeep }: { readonly onDiscard: () => void; readonly onKeep: () => void }) {
  const id = useId();
  const keep = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    keep.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <div class="dialog-foot" role="alertdialog" aria-labelledby={id}>
      <p id={id}>Discard what you typed?</p>
      <button type="button" class="button danger" onClick={onDiscard}>
        Discard
      </button>
      <button ref={keep} type="button" class="button" onClick={onKeep}>
        Keep typing
      </button>
    </div>
  );
}

/** A dialog, open as long as it is rendered. Neither Escape nor the cross takes away what was typed: they ask. */
export function Dialog({ title, onClose, onSubmit, size = "narrow", step, unstored = false, children, footer }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [typed] = useState(() => new Typed());
  const [asks, setAsks] = useState(false);
  /** Whether the key has been seen to: then the browser's own event for it is none of its own. */
  const isSeenTo = useRef(false);
  // Before the next paint, and at the end before the dialog is gone: the focus is never lost in between.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null || dialog.open) return;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      focusAfterDialog(before);
    };
  }, []);
  useLayoutEffect(() => {
    if (element.current !== null) focusStart(element.current);
  }, [step]);
  const leave = () => {
    if (asks) setAsks(false);
    else if (typed.isThere || unstored) setAsks(true);
    else onClose();
  };
  const onKey = (event: KeyboardEvent) => {
    // On an open choice the key closes that. The browser knows, and tells of a cancel if it is the dialog's.
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    isSeenTo.current = true;
    setTimeout(() => {
      isSeenTo.current = false;
    });
    leave();
  };
  const body = (
    <>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="button quiet square" aria-label="Close" onClick={leave}>
          <Icon name="close" />
        </button>
      </header>
      {/* It can have the focus: arrow keys scroll it where nothing inside can have it. */}
      <div class="dialog-body" tabIndex={onSubmit === undefined ? 0 : -1} role="group" aria-labelledby={id}>
        <AroundDialog.Provider value={{ leave: onClose, taken: () => typed.taken() }}>{children}</AroundDialog.Provider>
      </div>
      {asks && <Discard onDiscard={onClose} onKeep={() => setAsks(false)} />}
      {footer !== undefined && !asks && <footer class="dialog-foot">{footer}</footer>}
    </>
  );
  const note = (event: Event, what: "focused" | "typed") => {
    const field = fieldOf(event);
    if (field !== undefined) typed[what](field);
  };
  return (
    <dialog
      ref={element}
      tabIndex={-1}
      class={`dialog ${size}`}
      aria-labelledby={id}
      onKeyDown={onKey}
      onFocusIn={(event) => note(event, "focused")}
      onInput={(event) => note(event, "typed")}
      onSubmitCapture={() => typed.sent()}
      onCancel={(event) => {
        event.preventDefault();
        if (!isSeenTo.current) leave();
      }}
      onClose={({ currentTarget }) => {
        // A browser may close it without asking, at the second gesture back. What was typed stays.
        if (!currentTarget.isConnected || currentTarget.open) return;
        currentTarget.showModal();
        leave();
      }}
    >
      {onSubmit === undefined ? (
        <div class="dialog-form">{body}</div>
      ) : (
        <form
          class="dialog-form"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            onSubmit();
          }}
        >
          {body}
        </form>
      )}
    </dialog>
  );
}

/** The props of the buttons. */
interface AnswersProps {
  readonly onClose: () => void;
  /** What leaves the dialog. */
  readonly leave?: string | undefined;
  /** Whether what it does cannot be undone. */
  readonly danger?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  /** Whether it is being done. */
  readonly busy?: boolean | undefined;
  /** What does it. */
  readonly children: ComponentChildren;
}

/** The buttons of a dialog that does one thing: to leave it, and to do it. */
export function Answers({ onClose, leave = "Cancel", danger = false, disabled, busy, children }: AnswersProps) {
  return (
    <>
      <button type="button" class="button" onClick={onClose}>
        {leave}
      </button>
      <button type="submit" class={danger ? "button danger" : "button primary"} disabled={disabled} aria-disabled={busy}>
        {children}
      </button>
    </>
  );
}
