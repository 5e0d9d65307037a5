/** Whether the shell is open, and the key that opens and closes it. */

import { signal } from "@preact/signals";

import { session } from "./session.ts";

/** Whether it is open. */
export const shellIsOpen = signal(false);

/** The element that had the focus before it was opened. */
let before: Element | null = null;

/** Opens or closes it. The focus goes into it, and back. */
export function toggleShell(): void {
  if (session.value.state !== "open") return;
  shellIsOpen.value = !shellIsOpen.value;
  if (shellIsOpen.value) before = document.activeElement;
  else if (before instanceof HTMLElement && before.isConnected) before.focus();
}

/** Whether a person types there: then the key is a letter. An empty line of the shell is left by it. */
function isTyped(event: KeyboardEvent): boolean {
  // The editor of programs stands in a shadow root.
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement) || !(target.isContentEditable || target.matches("input, select, textarea"))) return false;
  return !(target instanceof HTMLInputElement && target.closest("#shell") !== null && target.value === "");
}

/** Listens for the key. Gives the function that ends this. */
export function shellKey(): () => void {
  const listen = (event: KeyboardEvent) => {
    const isKey = event.key === "`" && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (!isKey || isTyped(event) || document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    toggleShell();
  };
  addEventListener("keydown", listen);
  return () => removeEventListener("keydown", listen);
}
