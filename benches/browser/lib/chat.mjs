// A chat on timelines and on Dexie, from one page: the same messages, step by step in turn.

import { Browser } from "./browser.mjs";
import { versions } from "./build.mjs";
import { machineOf } from "./compare.mjs";
import { columns, figure, markdown, median, say, times } from "./statistics.mjs";

const CHATS = { tabstore: "timelines", dexie: "Dexie" };
/** Messages of a timeline, on average. */
const OF_A_ROOM = 100;
const BACK = 20;

/** Each step: what it is called, its function and arguments. `share` makes it short for few messages. */
const steps = (share, seed) => [
  ["load", "write, all messages without waiting, per message", []],
  ["store", "write, one after another", [share(500), false, seed]],
  ["store", "write, 5,000 in flight, per message", [share(5000), true, seed + 100]],
  ["fanOut", "write fan-out of a message, per receiver", [Math.max(1, share(10))]],
  ["latest", "latest message of a timeline", [share(1000), seed + 200]],
  ["back", `${BACK} messages back`, [share(1000), BACK, seed + 300]],
  ["catchUp", "catch up with half of all timelines, per message", []],
];

/** The table of both. */
export async function chat(server, wanted) {
  const browser = await Browser.start(wanted["sqlite-idb"]);
  try {
    const page = await browser.open(`http://127.0.0.1:${server.port}/chat`, "chat");
    const ask = (tool, ...rest) => page.evaluate(([name, all]) => globalThis.chat[name](...all), [tool, rest]);
    const rooms = Math.max(2, Math.round(wanted.rows / OF_A_ROOM));
    await ask("make", wanted.rows, rooms);
    const share = (count) => Math.max(1, Math.min(count, Math.round((count * wanted.rows) / 100_000)));
    const samples = new Map();
    // The first round warms code, and does not count.
    for (let round = 0; round <= wanted.rounds; round++) {
      for (const name of Object.keys(CHATS)) await ask("open", name, `chat-${round}`);
      for (const [at, [tool, what, rest]] of steps(share, round * 1000).entries()) {
        // In turn, and each first in every other round.
        const order = Object.keys(CHATS);
        if (round % 2 === 1) order.reverse();
        for (const name of order) {
          say(`round ${round}: ${what}, ${CHATS[name]}`);
          await new Promise((resolve) => setTimeout(resolve, 100));
          const took = await ask(tool, name, ...rest);
          const line = samples.get(at) ?? { what, tool };
          samples.set(at, line);
          if (round > 0) (line[name] ??= []).push(took);
        }
      }
      for (const name of Object.keys(CHATS)) await ask("remove", name, `chat-${round}`);
    }
    say("");
    const lines = [...samples.values()].map(({ what, tabstore, dexie }) => [
      what,
      "us",
      figure(median(tabstore)),
      figure(median(dexie)),
      times(median(dexie) / median(tabstore)),
    ]);
    const machine = machineOf(browser);
    const backend = wanted["sqlite-idb"] ? "SQLite" : "LevelDB";
    const caption = `Headless Chromium ${machine.chromium}, IndexedDB on ${backend}; ${wanted.rows.toLocaleString("en")} messages in ${rooms.toLocaleString("en")} timelines, from the page; medians of ${wanted.rounds} rounds, each step in turn. Dexie ${versions().dexie} with the key \`++id\` and the index \`[room+id]\`.`;
    const head = ["", "unit", ...Object.values(CHATS), "ratio"];
    console.log(`${caption}\n${columns(head, lines, [0, 1])}`);
    return { record: { rows: wanted.rows, rooms, backend, machine, samples: [...samples.values()] }, text: `${caption}\n\n${markdown(head, lines, [0, 1])}` };
  } finally {
    await browser.stop();
  }
}
