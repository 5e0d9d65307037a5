/** The line that is typed: a combobox whose list has what may stand at the caret. Arrows walk through the lines of before. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Completion, Shell } from "tabstore/shell";

import { history, running } from "./state.ts";

/** The props of the line. */
interface LineInputProps {
  readonly made: Shell;
  readonly onRun: (line: string) => void;
  readonly onLeave: () => void;
}

/** How long a person has to rest before proposals are looked for, in ms. */
const REST = 120;
/** The most proposals that are shown. */
const MOST = 12;

const NONE: Completion = { from: 0, to: 0, proposals: [] };

/** The line. */
export function LineInput({ made, onRun, onLeave }: LineInputProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [line, setLine] = useState("");
  const [completion, setCompletion] = useState(NONE);
  const [active, setActive] = useState(-1);
  const asked = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const proposals = completion.proposals.slice(0, MOST);
  const isOpen = proposals.length > 0;
  const close = () => {
    clearTimeout(timer.current);
    asked.current += 1;
    setCompletion(NONE);
    setActive(-1);
  };
  useEffect(() => {
    input.current?.focus();
    return () => clearTimeout(timer.current);
  }, []);
  const look = async () => {
    const mine = ++asked.current;
    const field = input.current;
    if (field === null) return;
    const found = await made.complete(field.value, field.selectionStart ?? field.value.length).catch(() => NONE);
    if (mine !== asked.current) return;
    // What stands there already needs no list.
    const isWhole = found.proposals.length === 1 && found.proposals[0]?.text === field.value.slice(found.from, found.to);
    setCompletion(isWhole ? NONE : found);
    setActive(-1);
  };
  const change = (text: string) => {
    setLine(text);
    close();
    if (text.trim() !== "") timer.current = setTimeout(() => void look(), REST);
  };
  /** Shows a line with the caret at a place. */
  const put = (text: string, caret = text.length) => {
    setLine(text);
    close();
    const field = input.current;
    if (field === null) return;
    field.value = text;
    field.setSelectionRange(caret, caret);
  };
  const accept = (at: number) => {
    const chosen = proposals[at];
    if (chosen === undefined) return;
    const { from, to } = completion;
    const rest = line.slice(to);
    put(`${line.slice(0, from)}${chosen.text}${rest === "" ? " " : rest}`, from + chosen.text.length + (rest === "" ? 1 : 0));
    input.current?.focus();
    if (rest === "") timer.current = setTimeout(() => void look(), REST);
  };
  const walk = (text: string | undefined) => {
    if (text !== undefined) put(text);
  };
  const KEYS: Readonly<Record<string, () => boolean>> = {
    ArrowDown: () => {
      if (isOpen) setActive(Math.min(active + 1, proposals.length - 1));
      else walk(history.newer());
      return true;
    },
    ArrowUp: () => {
      if (isOpen && active >= 0) setActive(active - 1);
      else walk(history.older(line));
      return true;
    },
    Tab: () => {
      if (isOpen) accept(Math.max(active, 0));
      return isOpen;
    },
    Enter: () => {
      if (active >= 0) accept(active);
      else if (running.value === undefined) {
        onRun(line);
        put("");
      }
      return true;
    },
    Escape: () => {
      if (running.value !== undefined) running.value.abort();
      else if (isOpen) close();
      else onLeave();
      return true;
    },
  };
  const option = (at: number) => `${id}-option-${at}`;
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing || event.shiftKey || event.altKey || event.metaKey) return;
    if (event.ctrlKey) {
      if (event.key === " ") void look();
      return;
    }
    if (KEYS[event.key]?.() === true) event.preventDefault();
  };
  return (
    <div class="shell-input">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Line"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={active >= 0 ? option(active) : undefined}
        value={line}
        placeholder="help"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        enterkeyhint="go"
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={onKey}
        onBlur={close}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Proposals" class="shell-list" hidden={!isOpen}>
        {proposals.map(({ text, help }, at) => (
          <li
            key={text}
            id={option(at)}
            role="option"
            aria-selected={at === active}
            // The focus stays in the line.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => accept(at)}
          >
            <code>{text}</code> {help !== undefined && <span class="faint">{help}</span>}
          </li>
        ))}
      </ul>
      <span class="visually-hidden" role="status">
        {isOpen ? `${proposals.length} proposals` : ""}
      </span>
    </div>
  );
}
