/** What a lesson does behind a kill of its page: written down before it, taken up once behind it. */

const PLACE = "tabstore-console-lesson";

/** What is left to do. */
export interface Left {
  readonly lesson: number;
  /** The lines that have not run. */
  readonly lines: readonly string[];
  /** The answer that was predicted. */
  readonly predicted: number | undefined;
}

/** Writes it down. */
export function keepLeft(left: Left): void {
  sessionStorage.setItem(PLACE, JSON.stringify(left));
}

/** Takes what was left for a lesson, once. */
export function takeLeft(lesson: number): Left | undefined {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
    sessionStorage.removeItem(PLACE);
    const left = kept as Left | null;
    return left?.lesson === lesson && Array.isArray(left.lines) ? left : undefined;
  } catch {
    // A page without storage, or another one's text.
    return undefined;
  }
}
