/** Which typed program can be brought back once another one has taken its place. Apart from the parser, which is heavy. */

/** A program that takes the place of another one. */
interface Replacement {
  readonly old: string;
  /** Whether a person typed the old one. */
  readonly isTyped: boolean;
  /** What could be brought back until now. */
  readonly before: string | undefined;
  readonly text: string;
}

/** The typed program that can be brought back behind a replacement. */
export function typedBefore({ old, isTyped, before, text }: Replacement): string | undefined {
  const typed = isTyped && old.trim() !== "" ? old : before;
  return typed === text ? undefined : typed;
}
