/** The keyboard's focus: keeps it when the element that has it goes away. */

/** The element that had the focus last, and everything around it, from the inside out. */
let path: readonly Element[] = [];
/** Whether the focus goes to the main part once the open dialog is gone. */
let mainIsNext = false;

function around(target: EventTarget | null): Element[] {
  const found: Element[] = [];
  for (let at = target instanceof Element ? target : null; at !== null; at = at.parentElement) found.push(at);
  return found;
}

function main(): HTMLElement | null {
  return document.getElementById("main");
}

function enterMain(): void {
  const place = main();
  place?.focus({ preventScroll: true });
  // On a phone it lies below the tables.
  place?.scrollIntoView({ block: "start" });
}

/** Moves the focus to the main part, which shows the choice: at once, or when the dialog of the choice closes. */
export function focusMain(): void {
  mainIsNext = document.querySelector("dialog[open]") !== null;
  if (!mainIsNext) enterMain();
}

/** The focus stays where it is: the choice is not shown after all. */
export function forgetMain(): void {
  mainIsNext = false;
}

/** Gives the focus back when a dialog has closed: to what had it before, unless the main part is to have it. */
export function focusAfterDialog(before: Element | null): void {
  if (mainIsNext) enterMain();
  else if (before instanceof HTMLElement && before.isConnected) before.focus();
  mainIsNext = false;
}

/** Something in which a person types or chooses. */
const FIELD = "input:not(:disabled):not([type=file]), select:not(:disabled), textarea:not(:disabled)";

/**
 * Moves the focus to the start of a dialog. That is the element that asks for it; in a form the first field, or the
 * button that changes nothing; else the first choice or text.
 */
export function focusStart(dialog: HTMLDialogElement): void {
  const find = (selector: string) => dialog.querySelector<HTMLElement>(selector);
  const start =
    find("[autofocus]") ??
    (find("form.dialog-form") === null
      ? (find(".dialog-body .choice") ?? find(".dialog-body"))
      : (find(`.dialog-body :is(${FIELD})`) ?? find(".dialog-foot .button")));
  start?.focus();
}

/** Whether the focus was lost because its element, somewhere inside this, was removed. */
export function lostInside(element: Element): boolean {
  return path[0]?.isConnected === false && path.includes(element);
}

/** From now on, when the element with the focus is removed, the nearest element around it that can have the focus takes it. */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    path = around(target);
  });
  new MutationObserver(() => {
    const [last] = path;
    // A click beside everything takes the focus away. That is no loss.
    if (last === undefined || last.isConnected || (document.activeElement !== document.body && document.activeElement !== null)) return;
    const heir = path.find((element) => element.isConnected && element.hasAttribute("tabindex")) ?? main();
    if (heir instanceof HTMLElement) heir.focus({ preventScroll: true });
  }).observe(document.documentElement, { subtree: true, childList: true });
}
