// How long the calls of followers wait when their leader closes, crashes or is frozen. The tests of tests/e2e do the same, and
// check every row; this counts.

import { columns, figure, markdown, median, quantile, say } from "./statistics.mjs";

/** Its modules need packages of their own, so they are loaded when they are needed. */
const support = "../../../tests/e2e/support";

/** A frozen leader is replaced after seconds, so it is frozen once in so many times. */
const SELDOM = 10;
/** The ends of a leader; the target of one is a bound in ms for one of its figures. */
const ENDS = { closes: ["p99", 50], crashes: ["median", 100], "is frozen": ["worst", 2500] };
/** The figures of the waits of one end. */
const FIGURES = { median, p99: (waits) => quantile(waits, 0.99), worst: (waits) => Math.max(...waits) };

/** Writes a row after the other, and notes the longest wait. */
const write = (tab) => {
  Object.assign(globalThis, { answers: 0, slowest: 0, stopped: false });
  globalThis.writing = (async () => {
    for (let n = 0; !stopped; n++) {
      const since = performance.now();
      // A write of a leader that was frozen is refused when it wakes: its fate is not known.
      const isDone = await db.putRow({ tableName: "t", primaryKey: { k: `${tab}`, n } }).then(
        () => true,
        ({ code }) => code !== "LeaderChanged" && Promise.reject(new Error(code)),
      );
      slowest = Math.max(slowest, performance.now() - since);
      if (isDone) answers += 1;
    }
  })();
};

const finish = (page) =>
  page.evaluate(async () => {
    stopped = true;
    await writing;
  });

/** Loads the tests' modules. Without their packages this fails before anything is measured. */
export async function loadSupport() {
  process.env.E2E_ENGINE = "chromium";
  const names = ["browser", "frozen", "hand-over", "harness", "server", "tabs"];
  return Object.assign({}, ...(await Promise.all(names.map((name) => import(`${support}/${name}.mjs`)))));
}

/** The longest waits of the followers' calls, of each follower each time, in ms; by end and way. */
export async function handOver({ dist, handOvers: times, "sqlite-idb": sqlite }) {
  const { freezes, handOvers, open, openFreezable, openPage, OWN_RENDERER, scoped, servePackage, startBrowser, WAYS } = await loadSupport();
  const waits = {};
  for (const ends of Object.keys(ENDS)) {
    for (const [way, prepare] of WAYS) {
      say(`hand-overs: the leader ${ends}, ${way}`);
      const isFrozen = ends === "is frozen";
      const { failure, value } = await scoped(async (t) => {
        const server = await servePackage(t, {}, dist);
        const context = await startBrowser(t, { backend: sqlite ? "SQLite" : "LevelDB", args: OWN_RENDERER });
        await prepare(context);
        const pages = [];
        for (let tab = 0; tab < 3; tab++) {
          pages.push(await (isFrozen ? openFreezable : openPage)(t, context, server));
          await pages[tab].evaluate(open, { name: "shared", options: {} });
          if (tab === 0)
            await pages[0].evaluate(() =>
              db.createTable({
                tableName: "t",
                primaryKey: [
                  { name: "k", type: "STRING" },
                  { name: "n", type: "INTEGER" },
                ],
              }),
            );
        }
        let tab = 0;
        const begin = (page) => page.evaluate(write, tab++);
        if (!isFrozen) return (await handOvers(t, { server, context, pages, ends, times, begin, finish })).waits;
        for (const page of pages) await begin(page);
        return await freezes(pages, Math.ceil(times / SELDOM));
      });
      if (failure !== undefined) throw failure;
      (waits[ends] ??= {})[way] = value;
    }
  }
  return waits;
}

function cells(waits) {
  const ways = Object.keys(Object.values(waits)[0]);
  const names = Object.keys(FIGURES);
  const head = [
    "the longest wait of a follower's call when its leader",
    "times",
    ...ways.flatMap((way) => names.map((name) => `${way}: ${name}`)),
    "target",
    "reached",
  ];
  const lines = Object.entries(waits).map(([ends, byWay]) => {
    const [name, most] = ENDS[ends];
    const figures = ways.map((way) => Object.fromEntries(names.map((one) => [one, FIGURES[one](byWay[way])])));
    const reached = ways.filter((_, i) => figures[i][name] <= most);
    const verdict = reached.length === ways.length ? "yes" : reached.length === 0 ? "no" : `only ${reached.join(", ")}`;
    // Each time two followers wait.
    return [ends, String(byWay[ways[0]].length / 2), ...figures.flatMap((of) => names.map((one) => `${figure(of[one])} ms`)), `${name} <= ${most} ms`, verdict];
  });
  return [head, lines, [0, head.length - 2, head.length - 1]];
}

/** The table of the waits, as text and as Markdown. */
export const waitsTable = (waits) => columns(...cells(waits));
export const waitsDocument = (waits) => markdown(...cells(waits)).replaceAll("<= ", "≤ ");
