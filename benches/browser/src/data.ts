/**
 * The rows that all engines store: 6 columns, about 150 bytes. The same number always gives the same row, so that every
 * read can be checked.
 */

/** A row as the peers store it, and as every engine must deliver it. */
export interface BenchRow {
  /** The key. */
  id: number;
  name: string;
  city: string;
  note: string;
  score: number;
  count: number;
}

const WORDS = (
  "river station morning pressure cloud window harbour signal bridge valley copper engine garden winter marble paper " +
  "thunder orange silver market pencil forest mountain island kitchen lantern machine needle ocean planet quarter railway " +
  "shadow ticket umbrella village whistle yellow basket candle desert eagle flower guitar hammer iron jacket kettle ladder " +
  "mirror notebook onion pocket rabbit saddle table vessel wagon anchor barrel cotton dragon"
).split(" ");
const FIRST = "Ada Ben Clara David Elena Farid Greta Hugo Irene Jonas Karin Liang Maria Nadia Oscar Petra Rosa Sven Tanya Yusuf".split(" ");
const LAST = "Abe Brandt Costa Dubois Eriksen Fischer Garcia Haddad Ivanov Jensen Kovacs Lindgren Meyer Novak Okafor Petrov Rossi Sato Tanaka Weber".split(" ");
const CITIES = "Seattle Hamburg Osaka Nairobi Valparaiso Helsinki Toronto Chennai Lisbon Auckland Montevideo Reykjavik Singapore Antwerp Gdansk".split(" ");

/** Random numbers that a seed repeats (mulberry32). */
export function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** The row with that key. */
export function row(id: number): BenchRow {
  const next = random(id * 2654435761);
  const pick = (list: readonly string[]) => list[next() % list.length];
  const words = [];
  for (let length = 0; length < 88; length += words[words.length - 1].length + 1) words.push(pick(WORDS));
  // Joined, not added up: a text as a parser makes it, not one that the first to look at it has to put together.
  return {
    id,
    name: [pick(FIRST), pick(LAST)].join(" "),
    city: pick(CITIES),
    note: words.join(" "),
    score: (next() % 100_000) / 8 + 0.125,
    count: next() % 1_000_000,
  };
}

/** The rows from `first` on. */
export function rows(first: number, count: number): BenchRow[] {
  return Array.from({ length: count }, (_, i) => row(first + i));
}

/** Rows that are made once. The number is prime, so that neighbours differ in the next round through them too. */
const POOL = 10_007;
let pool: BenchRow[] = [];

/**
 * A row that costs nothing to make: its values are those of one of some thousand rows, so a million of them need no memory.
 * Rows that lie close together differ. `generation` gives the same key other values.
 */
export function cheapRow(id: number, generation = 0): BenchRow {
  if (pool.length === 0) pool = rows(0, POOL);
  const { name, city, note, score, count } = pool[(id + generation * 7919) % POOL];
  return { id, name, city, note, score, count };
}

/** Looks at every property of a row, and makes a number of them. */
export function look(r: BenchRow): number {
  return (
    r.id +
    r.count +
    r.score * 8 +
    r.name.length * 3 +
    r.name.charCodeAt(0) +
    r.city.length * 5 +
    r.city.charCodeAt(r.city.length - 1) +
    r.note.length * 7 +
    r.note.charCodeAt(r.note.length - 1)
  );
}

/** The number that {@link look} makes of many rows. */
export function lookAll(all: Iterable<BenchRow>): number {
  let sum = 0;
  for (const r of all) sum += look(r);
  return sum;
}
