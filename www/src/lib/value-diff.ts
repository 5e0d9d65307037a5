/** What differs between a value and the one before it. */

import type { Value } from "tabstore";

import { text, typeOf } from "./values.ts";

/** A part of a difference. */
export interface DiffPart {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** How many equal characters stand on each side of what differs. */
const CONTEXT = 24;
/** The most characters of a part that differs. */
const MOST = 200;

const cut = (part: string) => (part.length > MOST ? `${part.slice(0, MOST)}…` : part);

/** The length of the equal beginnings of two lists of characters. */
function shared(a: readonly string[], b: readonly string[]): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length += 1;
  return length;
}

/** The parts of two texts: what both begin and end with, and between them what went and what came. */
function textParts(before: string, after: string): readonly DiffPart[] {
  // Code points, so that no pair of surrogates is cut.
  const [old, now] = [[...before], [...after]];
  const first = shared(old, now);
  const last = shared(old.slice(first).reverse(), now.slice(first).reverse());
  const head = now.slice(0, first);
  const tail = now.slice(now.length - last);
  const near = (part: readonly string[], at: "start" | "end") => {
    if (part.length <= CONTEXT) return part.join("");
    return at === "start" ? `…${part.slice(-CONTEXT).join("")}` : `${part.slice(0, CONTEXT).join("")}…`;
  };
  const parts: readonly DiffPart[] = [
    { kind: "same", text: near(head, "start") },
    { kind: "gone", text: cut(old.slice(first, old.length - last).join("")) },
    { kind: "new", text: cut(now.slice(first, now.length - last).join("")) },
    { kind: "same", text: near(tail, "end") },
  ];
  return parts.filter((part) => part.text !== "");
}

/** The difference; an empty list for equal values, `undefined` where there is no value before. */
export function valueDiff(before: Value | undefined, after: Value): readonly DiffPart[] | undefined {
  if (before === undefined) return undefined;
  const [old, now] = [typeOf(before), typeOf(after)];
  if (old === now && text(before) === text(after)) return [];
  if (old === now && (old === "STRING" || old === "BINARY")) return textParts(text(before), text(after));
  const gone: DiffPart = { kind: "gone", text: old === now ? text(before) : `${old} ${cut(text(before))}` };
  const came: DiffPart = { kind: "new", text: old === now ? text(after) : `${now} ${cut(text(after))}` };
  return [gone, came, ...step(before, after)];
}

/** By how much a number has changed. */
function step(before: Value, after: Value): readonly DiffPart[] {
  if (typeof before === "bigint" && typeof after === "bigint") return [{ kind: "same", text: `${after > before ? "+" : ""}${after - before}` }];
  if (typeof before !== "number" || typeof after !== "number") return [];
  const difference = Number((after - before).toPrecision(12));
  return Number.isFinite(difference) ? [{ kind: "same", text: `${difference > 0 ? "+" : ""}${difference}` }] : [];
}
