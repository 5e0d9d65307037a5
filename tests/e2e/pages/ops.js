// The writes of the page that will be killed, as a function of the number of the operation. The test sees only the
// numbers, and knows from this function which data may be stored.

export const ROWS = 500;

/** A good mixture of the bits of a number. */
function mix(n) {
  let x = (n + 0x9e3779b9) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0;
  return (x ^ (x >>> 16)) >>> 0;
}

/** The row that operation `n` writes, and how. */
export function operation(n) {
  const random = mix(n);
  const dice = (random >>> 8) % 100;
  return { row: random % ROWS, kind: dice < 12 ? "delete" : dice < 50 ? "update" : "put" };
}

/**
 * All columns of a row have the number of the operation that wrote it. `filler` has it too, and fills segments. It does
 * not compress, so blocks become large enough for the browser to keep them in files of their own.
 */
export function columns(n) {
  const pieces = 100 + ((mix(n) >>> 16) % 400);
  let filler = `${n}/`;
  for (let i = 0; i < pieces; i++) filler += mix(n * 1000 + i).toString(36);
  return { a: n, b: n, c: n, d: n + 0.5, e: String(n), f: n % 2 === 0, filler };
}

/** Which operation wrote these columns; `null` when it was not one. */
export function writer(row) {
  const n = row.a;
  const expected = columns(n);
  const names = Object.keys(expected);
  const same = Number.isInteger(n) && Object.keys(row).length === names.length && names.every((name) => row[name] === expected[name]);
  return same ? n : null;
}
