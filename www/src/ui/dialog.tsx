/** A modal dialog: the browser's own `<dialog>`, which keeps the keyboard inside and gives it back at the end. */

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { focusAfterDialog, focusStart } from "./focus.ts";
import { Icon } from "./icon.tsx";

/** The props of a dialog. */
interface DialogProps {
  readonly title: string;
  /** Called when the person leaves it: Escape, the cross, or a cancel button with `formmethod="dialog"`. */
  readonly onClose: () => void;
  /** Called when its form is submitted; without it the dialog has no form. */
  readonly onSubmit?: (() => void) | undefined;
  /** `side`: along the side of the page, from its top to its foot. */
  readonly size?: "narrow" | "wide" | "full" | "side" | undefined;
  /** Which of its steps is shown: another one takes the focus to its beginning. */
  readonly step?: string | undefined;
  readonly children: ComponentChildren;
  /** The buttons at its foot. */
  readonly footer?: ComponentChildren;
}

/** A dialog, open as long as it is rendered. */
export function Dialog({ title, onClose, onSubmit, size = "narrow", step, children, footer }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
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
  const body = (
    <>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="button quiet square" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {/* It can have the focus: arrow keys scroll it where nothing inside can have it. */}
      <div class="dialog-body" tabIndex={onSubmit === undefined ? 0 : -1} role="group" aria-labelledby={id}>
        {children}
      </div>
      {footer !== undefined && <footer class="dialog-foot">{footer}</footer>}
    </>
  );
  return (
    <dialog
      ref={element}
      tabIndex={-1}
      class={`dialog ${size}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
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
