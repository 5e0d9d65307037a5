// The benchmarks in a browser: `npm run bench -- [options]`, or `cargo xtask bench [options]`.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { Browser } from "./lib/browser.mjs";
import { build } from "./lib/build.mjs";
import { chat } from "./lib/chat.mjs";
import { chart } from "./lib/chart.mjs";
import { cold } from "./lib/cold.mjs";
import { ALWAYS, compare, STEPS } from "./lib/compare.mjs";
import { growth } from "./lib/growth.mjs";
import { kinds } from "./lib/kinds.mjs";
import { live } from "./lib/live.mjs";
import { million } from "./lib/million.mjs";
import { publish, publishCold } from "./lib/publish.mjs";
import { checkBuilt, Server } from "./lib/server.mjs";
import { soak } from "./lib/soak.mjs";
import { circumstances, COLD, document, ENGINES, table, TABS } from "./lib/table.mjs";
import { typed } from "./lib/typed.mjs";

const HELP = `
cargo xtask bench [options]

Compares with other databases:
  --rows N         rows of the loaded table (100000)
  --rounds N       rounds; the table shows medians (3)
  --only A,B       some of: ${Object.keys(ENGINES).join(" ")} page follower
  --steps A,B      some of: ${STEPS.join(" ")} (with follower) load (loading and stored bytes)
  --hand-overs N   how often a leader closes and crashes (100), and is frozen (a tenth)
  --publish        write docs/bench/, with --cold that part of it
  --profile        say where tabstore's time goes; writes target/bench/*.cpuprofile. Implies --only tabstore, one round

Looks at one thing:
  --growth         the same work on 10 thousand, 100 thousand and 1 million rows; --sizes A,B for others
  --kinds          both kinds of instance side by side, against I4's numbers; --rows N for others
  --cold           reads of a table ten times the cache, and puts that wait for the device, beside idb, SQLite and PGlite; --rows N
  --chat           a chat on timelines and on Dexie, from the page; --rows N messages, --rounds N
  --live           live queries beside Dexie's: the delay to a notification, the cost of a put; the cost of a stream
  --typed          what typed tables cost beside the calls of the service, in memory and on IndexedDB; --rounds N
  --million        a million rows with 32 MB of memory, checked; --rows N for fewer
  --soak           clients that do everything for a while, checked (cargo xtask soak); --minutes N (10), --seed N

  --no-judge       say what is over a limit, and do not fail; wrong answers fail always
  --sqlite-idb     let Chromium keep IndexedDB in SQLite, as coming versions do, instead of LevelDB
  --dist DIR       measure this build of the package (pkg/dist)
  --wasm FILE      serve this file as tabstore_bg.wasm: one with names, for --profile
  --out DIR        where tables, charts and figures go (target/bench)
`;

const root = fileURLToPath(new URL("../..", import.meta.url));

function options() {
  const string = { type: "string" };
  const flag = { type: "boolean", default: false };
  const { values } = parseArgs({
    options: {
      rows: string,
      rounds: string,
      only: string,
      steps: string,
      sizes: string,
      minutes: string,
      "hand-overs": string,
      seed: string,
      dist: string,
      wasm: string,
      out: string,
      "sqlite-idb": flag,
      profile: flag,
      publish: flag,
      cold: flag,
      growth: flag,
      kinds: flag,
      million: flag,
      soak: flag,
      chat: flag,
      live: flag,
      typed: flag,
      "no-judge": flag,
      help: flag,
    },
  });
  if (values.help) {
    console.log(HELP.trim());
    process.exit(0);
  }
  const number = (name, otherwise, least = 1) => {
    const value = Number(values[name] ?? otherwise);
    if (!Number.isFinite(value) || value < least) throw new Error(`--${name} is ${values[name]}; it must be a number of at least ${least}`);
    return value;
  };
  const only = (values.only ?? (values.profile ? "tabstore" : Object.keys({ ...COLD, ...TABS }).join(","))).split(",");
  for (const name of only) if (!(name in COLD) && !(name in TABS)) throw new Error(`--only: there is no '${name}'`);
  const steps = values.steps?.split(",");
  for (const name of steps ?? []) if (!STEPS.includes(name) && name !== "load") throw new Error(`--steps: there is no '${name}'`);
  return {
    ...values,
    out: path.resolve(values.out ?? path.join(root, "target/bench")),
    dist: path.resolve(values.dist ?? path.join(root, "pkg/dist")),
    steps: STEPS.filter((name) => steps === undefined || ALWAYS.has(name) || steps.includes(name)),
    loading: !values.profile && (steps === undefined || steps.includes("load")),
    rows: number("rows", values.million ? 1_000_000 : values.cold ? 300_000 : 100_000),
    rounds: number("rounds", values.profile ? 1 : 3),
    sizes: (values.sizes ?? "10000,100000,1000000").split(",").map(Number),
    minutes: number("minutes", 10, 0.01),
    seed: number("seed", 1),
    engines: Object.keys(values.cold ? COLD : ENGINES).filter((name) => only.includes(name)),
    page: only.includes("page"),
    follower: only.includes("follower"),
    handOvers: number("hand-overs", 100),
  };
}

/** Writes the figures, and prints their path. */
function keep(wanted, name, record) {
  const file = path.join(wanted.out, `${name}${new Date().toISOString().replace(/[:.]/g, "-")}.json`);
  writeFileSync(file, `${JSON.stringify(record, null, 1)}\n`);
  console.log(`\nAll figures: ${path.relative(root, file)}`);
}

/** The table and the pages with it. */
async function comparison(browser, server, wanted) {
  const { record, profiler } = await compare(browser, server, wanted);
  console.log(circumstances(record));
  console.log(table(record));
  keep(wanted, "", record);
  const text = document(record);
  const picture = chart(record);
  writeFileSync(path.join(wanted.out, "table.md"), `${text}\n`);
  writeFileSync(path.join(wanted.out, "chart.svg"), picture);
  if (wanted.publish) publish(root, text, picture);
  profiler?.report();
}

async function main() {
  const wanted = options();
  checkBuilt(wanted.dist);
  mkdirSync(wanted.out, { recursive: true });
  const server = await new Server(await build(), wanted).start();
  const special = Object.entries({ cold, growth, kinds, chat, live, typed, million, soak }).find(([name]) => wanted[name]);
  try {
    if (special === undefined) {
      const browser = await Browser.start(wanted["sqlite-idb"]);
      try {
        await comparison(browser, server, wanted);
      } finally {
        await browser.stop();
      }
      return;
    }
    const [name, run] = special;
    const { record, text, failures = [] } = await run(server, wanted);
    writeFileSync(path.join(wanted.out, `${name}.md`), `${text}\n`);
    if (wanted.publish && name === "cold") publishCold(root, text, wanted["sqlite-idb"] ? "SQLite" : "LevelDB");
    keep(wanted, `${name}-`, record);
    for (const failure of failures) console.log(`OVER THE LIMIT: ${failure}`);
    if (failures.length > 0 && !wanted["no-judge"]) process.exitCode = 1;
  } finally {
    server.stop();
  }
}

await main();
