// The two kinds of instance side by side (I4): the same rows, step by step in turn, each in a browser of its own.

import { machineOf } from "./compare.mjs";
import { Large } from "./large.mjs";
import { columns, figure, markdown, median, megabytes, say } from "./statistics.mjs";

const KINDS = ["high-performance", "capacity"];
const IN_FLIGHT = 10_000;
const GETS = 2_000;
const ROUNDS = 3;
/** Loads that make the table. */
const PARTS = 5;
/** Rows of the stretch that is in memory when it is read again. */
const STRETCH = 5_000;
/** The caches of the part whose data is larger: as far apart as those that instances have unless told. */
const SMALL = { "high-performance": 2 << 20, capacity: 1 << 20 };

/** The bounds of I4: the quotient of the two is at most this. `way` names the numerator, or both ways. */
const LIMITS = { stored: ["capacity", 0.7], cache: ["capacity", 0.5], read: ["high-performance", 0.8], write: ["both", 1.2] };
const ROWS = [
  ["stored", "stored bytes (segments)", "MB", "stored"],
  ["disk", "bytes on disk", "MB"],
  ["limit", "cache, at most", "MB", "cache"],
  ["held", "cache, held after a scan of all", "MB"],
  ["bulk", "bulk load, per row", "us", "write"],
  ["inFlight", "put, 10,000 in flight, all over the table", "us", "write"],
  ["coldGet", "get, all over a table larger than the cache", "us", "read"],
  ["coldScan", "scan of such a table, per row", "us", "read"],
  ["warmGet", `get, among ${STRETCH.toLocaleString("en")} rows in memory`, "us"],
  ["warmScan", "scan of these, per row", "us"],
];

/** Rows in parts, so that a noisy moment spoils one of them. */
const parts = (rows) => Array.from({ length: PARTS }, (_, at) => Math.floor((rows * (at + 1)) / PARTS) - Math.floor((rows * at) / PARTS));

/** Everything that is measured of one kind, in steps that can be taken in turn with those of the other. */
function steps(large, kind, rows, samples) {
  const keep = (name, value) => (samples[name] ??= []).push(value);
  const timed =
    (name, tool, ...rest) =>
    async () =>
      keep(name, await large.ask(tool, ...rest));
  const again = (options) => async () => {
    await large.ask("close");
    large.options = { kind, ...options };
    await large.ask("open", "large", large.options, rows);
  };
  const stretch = Math.min(STRETCH, rows);
  const gets = Math.min(GETS, rows);
  const cold = (round) => [
    again({ cacheBytes: SMALL[kind] }),
    timed("coldGet", "get", gets, rows, 10 + round),
    again({ cacheBytes: SMALL[kind] }),
    timed("coldScan", "scan"),
  ];
  const warm = (round) => [
    async () => void (await large.ask("scan", stretch)),
    timed("warmScan", "scan", stretch),
    timed("warmGet", "get", gets, stretch, 20 + round, 0),
  ];
  const all = Array.from({ length: ROUNDS }, (_, round) => round);
  return [
    ...parts(rows).map((part) => timed("bulk", "load", part)),
    () => large.ask("settle"),
    async () => {
      const uses = await large.uses();
      keep("stored", megabytes(uses.segments));
      keep("disk", megabytes(uses.disk));
    },
    ...all.flatMap(cold),
    again({}),
    () => large.ask("scan"),
    async () => {
      const { cache } = await large.ask("metrics");
      keep("limit", megabytes(cache.capacity));
      keep("held", megabytes(cache.bytes));
    },
    ...all.flatMap(warm),
    ...all.flatMap((round) => [() => large.ask("settle"), timed("inFlight", "put", Math.min(IN_FLIGHT, rows), true, 30 + round)]),
  ];
}

/** How far apart the kinds are, and whether I4 allows it. */
function judge([fast, dense], limit) {
  const [way, most] = LIMITS[limit] ?? ["capacity"];
  const ratio = { capacity: dense / fast, "high-performance": fast / dense, both: Math.max(dense / fast, fast / dense) }[way];
  return { ratio, most, over: ratio > most, text: `${ratio.toFixed(2)} x` };
}

/** The table of both kinds, and the figures that are further apart or closer together than I4 says. */
export async function kinds(server, wanted) {
  const { rows } = wanted;
  const sides = [];
  try {
    for (const kind of KINDS) sides.push({ kind, large: await Large.start(server, wanted["sqlite-idb"], { kind }), samples: {} });
    const [fast, dense] = sides.map(({ large, kind, samples }) => steps(large, kind, rows, samples));
    for (const [at, step] of fast.entries()) {
      await step();
      await dense[at]();
    }
    say("");
    const failures = [];
    const figures = {};
    const lines = ROWS.map(([name, what, unit, limit]) => {
      const values = sides.map(({ samples }) => median(samples[name]));
      const { ratio, most, over, text } = judge(values, limit);
      figures[name] = { values, ratio };
      if (over) failures.push(`${what}: ${text}, at most ${most} x`);
      return [
        what,
        unit,
        ...values.map(figure),
        text,
        most === undefined ? "" : `${most} x of ${{ capacity: "the first", "high-performance": "the second", both: "either" }[LIMITS[limit][0]]}`,
        over ? "over" : "",
      ];
    });
    const machine = machineOf(sides[0].large.browser);
    const backend = wanted["sqlite-idb"] ? "SQLite" : "LevelDB";
    const caption = `Headless Chromium ${machine.chromium}, IndexedDB on ${backend}; ${rows.toLocaleString("en")} rows in both kinds, one step of each in turn; reads of what is larger than the cache with caches of ${SMALL[KINDS[0]] >> 20} and ${SMALL.capacity >> 20} MB.`;
    const head = ["", "unit", ...KINDS, "ratio", "I4: at most", ""];
    const left = [0, 1, 5, 6];
    console.log(`${caption}\n${columns(head, lines, left)}`);
    return {
      record: { rows, backend, machine, figures, samples: sides.map(({ samples }) => samples) },
      text: `${caption}\n\n${markdown(head, lines, left)}`,
      failures,
    };
  } finally {
    for (const { large } of sides) await large.stop();
  }
}
