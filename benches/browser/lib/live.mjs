// Live queries on this package and on Dexie, from one page, step by step in turn; and the cost of a change stream.

import { Browser } from "./browser.mjs";
import { versions } from "./build.mjs";
import { machineOf } from "./compare.mjs";
import { columns, figure, markdown, median, quantile, say, times } from "./statistics.mjs";

const STORES = { tabstore: "tabstore", dexie: "Dexie" };
/** As many live queries as the steps have. */
const QUERIES = 100;
const OF_A_QUERY = 10;

const pause = () => new Promise((resolve) => setTimeout(resolve, 100));

/** Asks each in turn; who is first changes with the round. */
async function inTurn(round, names, ask) {
  for (const name of round % 2 === 1 ? names.toReversed() : names) {
    await pause();
    await ask(name);
  }
}

/** The table of both, and the lines of streams. */
export async function live(server, wanted) {
  const browser = await Browser.start(wanted["sqlite-idb"]);
  try {
    const page = await browser.open(`http://127.0.0.1:${server.port}/live`, "live");
    const ask = (tool, ...rest) => page.evaluate(([name, all]) => globalThis.live[name](...all), [tool, rest]);
    const { rows } = wanted;
    const share = (count) => Math.max(10, Math.min(count, Math.round((count * rows) / 100_000)));
    const samples = {};
    const add = (round, what, name, ...values) => {
      // The first round warms code, and does not count.
      if (round > 0) ((samples[what] ??= {})[name] ??= []).push(...values);
    };
    for (let round = 0; round <= wanted.rounds; round++) {
      const names = Object.keys(STORES);
      for (const name of names) await ask("open", name, `live-${round}`, rows);
      for (const watched of [OF_A_QUERY, Math.min(1000, rows)]) {
        say(`round ${round}: delays of a query of ${watched} rows`);
        await inTurn(round, names, async (name) => {
          const { called, answered } = await ask("delays", name, rows, watched, share(300));
          add(round, `called ${watched}`, name, ...called);
          add(round, `answered ${watched}`, name, ...answered);
        });
      }
      for (const inFlight of [true, false]) {
        for (const [kind, queries, touched] of [
          ["none", 0, true],
          ["elsewhere", QUERIES, false],
          ["touched", QUERIES, true],
        ]) {
          say(`round ${round}: puts, ${inFlight ? "in flight" : "awaited"}, ${kind}`);
          // The peers of a query grow dear.
          const operations = share(inFlight ? 3000 : 300);
          await inTurn(round, names, async (name) =>
            add(
              round,
              `${inFlight ? "in flight" : "awaited"} ${kind}`,
              name,
              await ask("puts", name, rows, queries, OF_A_QUERY, touched, operations, inFlight, round * 10),
            ),
          );
        }
      }
      await inTurn(round, [false, true], async (on) => add(round, "stream put", on, await ask("streamedPuts", on, share(20_000), round)));
      await inTurn(round, [false, true], async (on) => {
        const { us, bytes } = await ask("streamedLoad", on, 2_000_000 + round * rows, rows);
        add(round, "stream load", on, us);
        add(round, "stream bytes", on, bytes);
      });
      for (const name of names) await ask("remove", name, `live-${round}`);
    }
    say("");
    const machine = machineOf(browser);
    const backend = wanted["sqlite-idb"] ? "SQLite" : "LevelDB";
    const text = report(samples, { rows, rounds: wanted.rounds, machine, backend });
    console.log(text.plain);
    return { record: { rows, backend, machine, samples }, text: text.markdown };
  } finally {
    await browser.stop();
  }
}

function report(samples, { rows, rounds, machine, backend }) {
  const lines = [];
  const both = (what, unit, { tabstore, dexie }) => lines.push([what, unit, figure(tabstore), figure(dexie), dexie > 0 ? times(dexie / tabstore) : "-"]);
  const reduce = (what, by) => Object.fromEntries(Object.entries(samples[what]).map(([name, values]) => [name, by(values)]));
  for (const watched of [OF_A_QUERY, Math.min(1000, rows)]) {
    for (const since of ["called", "answered"]) {
      both(`notified after a put was ${since}, ${watched} rows, median`, "ms", reduce(`${since} ${watched}`, median));
      both(
        `notified after a put was ${since}, ${watched} rows, p99`,
        "ms",
        reduce(`${since} ${watched}`, (values) => quantile(values, 0.99)),
      );
    }
  }
  const what = { none: "without live queries", elsewhere: `beside ${QUERIES} queries of other rows`, touched: `beside ${QUERIES} queries, each put in one` };
  for (const kind of ["in flight", "awaited"]) {
    for (const [name, words] of Object.entries(what)) both(`put, ${kind}, ${words}`, "us", reduce(`${kind} ${name}`, median));
  }
  const costs = [
    ["put, in flight", "stream put", "us"],
    ["load, per row", "stream load", "us"],
    ["stored, per row", "stream bytes", "bytes"],
  ].map(([words, name, unit]) => {
    const [off, on] = [false, true].map((key) => median(samples[name][key]));
    return [words, unit, figure(off), figure(on), times(on / off)];
  });
  const head = ["", "unit", ...Object.values(STORES), "ratio"];
  const other = ["", "unit", "without a stream", "with a stream", "ratio"];
  const caption = `Headless Chromium ${machine.chromium}, IndexedDB on ${backend}; a table of ${rows.toLocaleString("en")} rows, from the page; medians of ${rounds} rounds, each step in turn. Dexie ${versions().dexie} with \`liveQuery\`. Each query of the puts watches ${OF_A_QUERY} rows. Dexie may notify before the write is stored, and so before its answer (0).`;
  return {
    plain: `${caption}\n${columns(head, lines, [0, 1])}\n\n${columns(other, costs, [0, 1])}`,
    markdown: `${caption}\n\n${markdown(head, lines, [0, 1])}\n\n${markdown(other, costs, [0, 1])}`,
  };
}
