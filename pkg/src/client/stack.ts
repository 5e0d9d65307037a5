/** Checks how much of the caller's stack is left: a page may call from deep inside a recursion. */

/** How often the functions below call themselves. */
const FRAMES = 1024;

/** Frames of a few words each, some 50 KB: more than any call of ours uses, also when functions are compiled on the way. */
function descend(left: number): number {
  return left === 0 ? 0 : descend(left - 1) + 1;
}

/** Wide frames, some 180 KB: more than the engine uses. One is three times as large, and takes half as long again. */
function descendFar(
  left: number,
  a: number,
  b: number,
  c: number,
  d: number,
  e: number,
  f: number,
  g: number,
  h: number,
  i: number,
  j: number,
  k: number,
  l: number,
  m: number,
  n: number,
  o: number,
  p: number,
): number {
  return left === 0 ? 0 : descendFar(left - 1, p, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) + 1;
}

/**
 * Whether the stack is large enough for work that must not stop in the middle. It costs a few microseconds, so work done
 * for every row cleans up afterwards instead.
 */
export function hasStack(): boolean {
  try {
    return descend(FRAMES) === FRAMES;
  } catch {
    return false;
  }
}

/** Whether the stack is large enough to enter an engine in this thread. */
export function hasEngineStack(): boolean {
  try {
    return descendFar(FRAMES, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) === FRAMES;
  } catch {
    return false;
  }
}

/** Throws the error of a full stack now, before work begins. */
export function needStack(): void {
  descend(FRAMES);
}
