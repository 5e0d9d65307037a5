/** A button that asks before it does something that cannot be undone. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon, type IconName } from "./icon.tsx";

/** The props of the button. */
interface AskFirstProps {
  /** Its icon; without one it is a small button, among many. */
  readonly icon?: IconName | undefined;
  readonly label: string;
  /** What the label says in full, where many have the same one. */
  readonly about?: string | undefined;
  /** What does it, and what does not. */
  readonly yes: string;
  readonly no?: string | undefined;
  readonly busy: boolean;
  readonly onYes: () => void;
}

/** The button, and the question in its place. */
export function AskFirst({ icon, label, about, yes, no = "Keep it", busy, onYes }: AskFirstProps) {
  const [asked, setAsked] = useState<boolean>();
  const place = useRef<HTMLSpanElement>(null);
  // The question takes the focus to what changes nothing, and the answer takes it back.
  useLayoutEffect(() => {
    if (asked !== undefined) place.current?.querySelector<HTMLElement>(".button:last-child")?.focus();
  }, [asked]);
  return (
    <span class="row" ref={place}>
      {asked !== true ? (
        <button key="ask" type="button" class={icon === undefined ? "button quiet small" : "button"} aria-label={about} onClick={() => setAsked(true)}>
          {icon !== undefined && <Icon name={icon} />} {label}
        </button>
      ) : (
        <>
          <button key="yes" type="button" class="button danger" aria-disabled={busy} onClick={onYes}>
            {yes}
          </button>
          <button key="no" type="button" class="button" onClick={() => setAsked(false)}>
            {no}
          </button>
        </>
      )}
    </span>
  );
}
