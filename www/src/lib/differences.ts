/** What is stored now beside what a person wants: of an entity by its properties, of a row by its columns. */

/** A part that both sides may have, by its name. */
export interface Difference<T> {
  readonly name: string;
  /** What is stored now; `undefined`: there is no such part. */
  readonly now: T | undefined;
  /** What becomes of it if it is overwritten; `undefined`: no such part. */
  readonly wanted: T | undefined;
  /** Whether it was changed elsewhere since it was read. */
  readonly changed: boolean;
}

/** The three states of something: as it was read, as it is stored now, as a person wants it. */
export interface States<T> {
  readonly read: readonly T[];
  readonly now: readonly T[];
  readonly wanted: readonly T[];
}

/** The parts of all of them, by name. `same` says whether a part is as it was read. */
export function differencesOf<T extends { readonly name: string }>(
  states: States<T>,
  same: (a: T | undefined, b: T | undefined) => boolean,
): readonly Difference<T>[] {
  const byName = (parts: readonly T[]) => new Map(parts.map((part) => [part.name, part]));
  const [read, now, wanted] = [byName(states.read), byName(states.now), byName(states.wanted)];
  return [...new Set([...now.keys(), ...wanted.keys(), ...read.keys()])]
    .sort()
    .map((name) => ({ name, now: now.get(name), wanted: wanted.get(name), changed: !same(now.get(name), read.get(name)) }))
    .filter((one) => one.now !== undefined || one.wanted !== undefined || one.changed);
}
