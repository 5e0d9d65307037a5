/** Small parts of the chat: addresses, pictures of people, times and days. */

import type { Route } from "../../lib/route.ts";

/** The address of a person, and of one of their conversations. */
export const place = (as: string, room?: string): Route => ({ example: "chat", settings: room === undefined ? { as } : { as, room } });

/** The most letters of a name: it is part of a key. */
export const NAME_LETTERS = 40;

const COLOURS = 6;

/** The first letter of a person or of a conversation, in a colour of its own. */
export function Avatar({ name, square = false }: { readonly name: string; readonly square?: boolean }) {
  const colour = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 997, 7) % COLOURS;
  return (
    <span class={`avatar colour${colour} ${square ? "square" : ""}`} aria-hidden="true">
      {[...name][0]?.toUpperCase()}
    </span>
  );
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });
const SHORT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Whether two times are on one day, where this browser is. */
export const sameDay = (a: number, b: number) => new Date(a).toDateString() === new Date(b).toDateString();

/** The time of day. */
export const clock = (at: number) => CLOCK.format(at);

/** A day, as people say it. */
export function day(at: number, now = Date.now()): string {
  if (sameDay(at, now)) return "Today";
  return sameDay(at, now - 86_400_000) ? "Yesterday" : DAY.format(at);
}

/** A time in a list: short. */
export const when = (at: number, now = Date.now()) => (sameDay(at, now) ? clock(at) : SHORT.format(at));

/** Names, as in a sentence. */
export const names = new Intl.ListFormat("en-GB");
