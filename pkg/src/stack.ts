/** How much of the caller's stack is left: a page may call from the depth of a recursion. */

/**
 * Frames of a few words each: they take some 50 KB, which is more than any call of ours uses, also when functions are compiled
 * on the way.
 */
const FRAMES = 1024;

function descend(left: number): number {
  return left === 0 ? 0 : descend(left - 1) + 1;
}

/**
 * Whether there is stack enough to begin what must not end in the middle. It costs a few microseconds: what is done for
 * every row tidies up afterwards instead.
 */
export function hasStack(): boolean {
  try {
    return descend(FRAMES) === FRAMES;
  } catch {
    return false;
  }
}

/** Throws the error of a full stack now, where nothing has been begun. */
export function needStack(): void {
  descend(FRAMES);
}
