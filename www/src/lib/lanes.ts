/** The versions of a row along time, for the time machine. Plain functions. */

import type { StoredVersion, Value } from "tabstore";

/** A version in the picture. `at` runs from 0 to 1. */
export interface Dot {
  readonly column: string;
  readonly version: number;
  readonly value: Value;
  readonly hidden: StoredVersion["hidden"];
  readonly at: number;
}

/** A stretch of time, in ms since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The least stretch that is shown, so that one version alone has room on both sides. */
const LEAST_MS = 60_000;

/** The time that is shown: all versions and the clock, with as much behind the last one as a time to live, and some room at both ends. */
export function spanOf(versions: readonly number[], now: number, timeToLive: number): Span {
  const first = Math.min(now, ...versions);
  const last = Math.max(now, ...versions) + (timeToLive === -1 ? 0 : timeToLive * 1000);
  const room = Math.max(LEAST_MS, (last - first) * 0.1);
  return { from: Math.max(0, Math.floor(first - room)), to: Math.ceil(last + room) };
}

/** The place of an instant, from 0 to 1. */
export const placeIn = ({ from, to }: Span, instant: number): number => Math.min(1, Math.max(0, (instant - from) / (to - from)));

/** The options of a table that say which versions may be given: seconds each, a time to live of -1 is none. */
export interface WindowOptions {
  readonly timeToLive: number;
  readonly maxVersionOffset: number;
}

/** The window in which a version may be given [V6], in ms: from the first to before the last. A version counts by its second. */
export function windowOf(now: number, { timeToLive, maxVersionOffset }: WindowOptions): Span {
  const back = timeToLive === -1 ? maxVersionOffset : Math.min(maxVersionOffset, timeToLive);
  const second = Math.floor(now / 1000);
  return { from: (second - back) * 1000, to: (second + maxVersionOffset) * 1000 };
}

/** The lanes of a row: its columns by name, each with its versions, oldest first. */
export function lanesOf(versions: Readonly<Record<string, readonly StoredVersion[]>>, span: Span): readonly (readonly [string, readonly Dot[]])[] {
  return Object.keys(versions)
    .sort()
    .map((column) => {
      const dots = (versions[column] ?? []).map(({ version, value, hidden }) => ({ column, version, value, hidden, at: placeIn(span, version) }));
      return [column, dots.sort((a, b) => a.version - b.version)] as const;
    });
}
