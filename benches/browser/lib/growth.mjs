// How the same operations grow with the table: everything on an instance with default options, in a browser of its own.

import { machineOf } from "./compare.mjs";
import { Large } from "./large.mjs";
import { columns, figure, markdown, megabytes, say } from "./statistics.mjs";

const PUTS = 2_000;
const IN_FLIGHT = 10_000;
const GETS = 5_000;
/** Rows of the stretch that is read again and again. */
const STRETCH = 10_000;
/** The factor by which a figure may grow between the smallest and the largest table. */
const MOST = 2;

/** `flag`: grows with nothing, or is flagged. */
const ROWS = [
  ["bulk", "bulk load, per row", "us", true],
  ["put", "put, one after another, all over the table", "us", true],
  ["inFlight", "put, 10,000 in flight, all over the table", "us", true],
  ["stretch", `get, among ${STRETCH.toLocaleString("en")} rows`, "us", true],
  ["get", "get, all over the table", "us", true],
  ["getMany", "get, 100 keys a call, all over the table, per row", "us", true],
  ["scan", "range scan of all, per row", "us", true],
  ["same", "reopen and first read, engine loaded", "ms", true],
  ["fresh", "reopen and first read, new worker", "ms", true],
  ["stored", "bytes on disk, per row", "B", true],
  ["disk", "bytes on disk", "MB", false],
  ["wasm", "WebAssembly memory", "MB", false],
  ["renderer", "private memory of the renderer", "MB", false],
];

async function measure(server, sqlite, rows) {
  const large = await Large.start(server, sqlite);
  try {
    const figures = {};
    figures.bulk = await large.ask("load", rows);
    await large.ask("settle");
    const uses = await large.uses();
    const share = (count) => Math.min(count, rows);
    // Once before, so that code is warm when it is measured.
    for (const warm of [0.1, 1]) {
      const some = (count) => Math.max(10, Math.round(share(count) * warm));
      figures.stretch = await large.ask("get", some(GETS), STRETCH, 1);
      figures.get = await large.ask("get", some(GETS), rows, 2);
      figures.getMany = await large.ask("getMany", Math.max(1, some(GETS) / 50), 3);
    }
    figures.scan = await large.ask("scan");
    await large.ask("put", share(PUTS) / 10, false, 4);
    figures.put = await large.ask("put", share(PUTS), false, 5);
    figures.inFlight = await large.ask("put", share(IN_FLIGHT), true, 6);
    await large.ask("settle");
    await large.ask("scan");
    Object.assign(figures, await large.reopen(rows));
    const after = await large.uses();
    Object.assign(figures, { stored: uses.disk / rows, disk: megabytes(uses.disk), wasm: megabytes(after.wasm), renderer: megabytes(after.renderer) });
    return { figures, machine: machineOf(large.browser) };
  } finally {
    await large.stop();
  }
}

/** The table of all sizes, and which rows grow too much. */
export async function growth(server, wanted) {
  const measured = [];
  for (const rows of wanted.sizes) measured.push({ rows, ...(await measure(server, wanted["sqlite-idb"], rows)) });
  say("");
  const failures = [];
  const head = ["", "unit", ...wanted.sizes.map((rows) => `${rows.toLocaleString("en")} rows`), "growth", ""];
  const lines = ROWS.map(([name, what, unit, flag]) => {
    const values = measured.map(({ figures }) => figures[name]);
    const ratio = values.at(-1) / values[0];
    const over = flag && ratio > MOST;
    if (over) failures.push(`${what}: ${ratio.toFixed(1)} x`);
    return [what, unit, ...values.map(figure), flag ? `${ratio.toFixed(2)} x` : "", over ? `over ${MOST} x` : ""];
  });
  const backend = wanted["sqlite-idb"] ? "SQLite" : "LevelDB";
  const caption = `Headless Chromium ${measured[0].machine.chromium}, IndexedDB on ${backend}; default options (a cache of 32 MB), reads after load and flush.`;
  const left = [0, 1, head.length - 1];
  console.log(`${caption}\n${columns(head, lines, left)}`);
  return { record: { backend, measured }, text: `${caption}\n\n${markdown(head, lines, left)}`, failures };
}
