/** The scrolling of a conversation: it stays where the person reads, and at the end if they are there. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { History } from "../../../../examples/chat/history.ts";

/** So near to an edge counts as at it, in pixels. */
const END = 24;
/** So near to an edge the next page is read. */
const NEAR = 200;

/** What a conversation needs of it. */
interface Scroll {
  readonly log: RefObject<HTMLDivElement | null>;
  /** Whether the last shown message is in sight. */
  readonly atEnd: boolean;
  /** Goes there with the next render. */
  readonly toEnd: () => void;
  /** Goes to the first shown message, once there is another one. */
  readonly toStart: () => void;
}

/**
 * Follows a list of messages. At first it shows the line above those that are new, and the end if there is room for both.
 *
 * @param near is called when an edge comes near, so that more messages can be read.
 */
export function useScroll(history: History, near: (edge: "older" | "newer") => void): Scroll {
  const log = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(false);
  const sticks = useRef(true);
  /** The first message at the last render, and its place. */
  const first = useRef<{ readonly id: string; readonly top: number } | null>(null);
  const startIsNext = useRef(false);
  const call = useRef(near);
  call.current = near;

  useLayoutEffect(() => {
    const element = log.current;
    const [entry] = history.entries;
    if (element === null || entry === undefined) return;
    const topOf = (id: string) => element.querySelector<HTMLElement>(`[data-id="${id}"]`)?.offsetTop;
    const { current: before } = first;
    const line = element.querySelector<HTMLElement>(".chat-new");
    if (startIsNext.current && before?.id !== String(entry.sequenceId)) {
      element.scrollTop = 0;
      startIsNext.current = false;
    } else if (before === null && line !== null) {
      // All that is new may fit below the line.
      const end = element.scrollHeight - element.clientHeight;
      element.scrollTop = line.offsetTop > end ? end : line.offsetTop - element.clientHeight / 4;
      sticks.current = false;
    } else if (sticks.current) {
      element.scrollTop = element.scrollHeight;
    } else if (before !== null) {
      // Older messages came above, or the line of new ones: what was in sight stays there.
      const top = topOf(before.id);
      if (top !== undefined) element.scrollTop += top - before.top;
    }
    const id = String(entry.sequenceId);
    first.current = { id, top: topOf(id) ?? 0 };
    look(element);
  });

  function look(element: HTMLDivElement): void {
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    sticks.current = below < END && !history.hasNewer;
    setAtEnd(below < END);
  }

  useEffect(() => {
    const element = log.current;
    if (element === null) return;
    const onScroll = () => {
      look(element);
      if (element.scrollTop < NEAR) call.current("older");
      else if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR) call.current("newer");
    };
    // A phone's keyboard makes it smaller.
    const resized = new ResizeObserver(() => {
      if (sticks.current) element.scrollTop = element.scrollHeight;
    });
    element.addEventListener("scroll", onScroll, { passive: true });
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      resized.disconnect();
    };
  }, []);

  const toEnd = () => {
    sticks.current = true;
  };
  const toStart = () => {
    sticks.current = false;
    // It may be shown already.
    if (history.hasOlder) startIsNext.current = true;
    else log.current?.scrollTo({ top: 0 });
  };
  return { log, atEnd, toEnd, toStart };
}
