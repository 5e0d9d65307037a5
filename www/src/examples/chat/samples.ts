/** A conversation with a past, so that there is something to scroll through. */

import type { Chat } from "../../../../examples/chat/chat.ts";

/** The conversation. */
export const SAMPLE = "Allotment";

const HOUR = 3_600_000;
const DAYS = 24;
/** The last messages come by the inboxes, so they are unread. */
const UNREAD = 5;

const BEDS = ["tomatoes", "beans", "courgettes", "leeks", "potatoes", "peas", "lettuces", "onions", "beetroot", "strawberries"];
const TALKS: readonly (readonly string[])[] = [
  ["Who waters the % today?", "I can, after six.", "Thanks! The can is behind the shed."],
  ["The % look thirsty.", "They got two cans this morning, and it was still cold.", "Then it is the wind. I will put the fleece on."],
  ["Slugs in the % again.", "How many?", "I stopped counting at thirty.", "Beer traps tonight, then."],
  ["First % of the year!", "Already? Send me one.", "Too late, they did not get as far as the kitchen."],
  ["Shall we move the % next year? They had the same bed twice.", "Good idea. Beside the compost there is more sun too."],
  ["I have thinned the %. There is a bag of the small ones on the bench, for whoever wants them."],
  ["Rain until Thursday. No need to come for the %.", "Best news of the week."],
];

/** What was said, oldest first, up to a time. */
function past(until: number): { from: string; kind: "text"; text: string; at: number }[] {
  const said = [];
  for (let day = 0; day < DAYS; day++) {
    for (let talk = 0; talk < 3; talk++) {
      const turn = day * 3 + talk;
      const bed = BEDS[turn % BEDS.length] ?? "";
      // Ends some minutes before the given time.
      let at = until - (DAYS - 1 - day) * 24 * HOUR - (2 - talk) * 2.5 * HOUR - 40 * 60_000;
      for (const [line, text] of (TALKS[turn % TALKS.length] ?? []).entries()) {
        said.push({ from: (turn + line) % 2 === 0 ? "Ann" : "Bob", kind: "text" as const, text: text.replace("%", bed), at });
        at += (line + 1) * 150_000;
      }
    }
  }
  return said;
}

/** Writes it, with Ann and Bob in it. */
export async function addSample(chat: Chat, until = Date.now()): Promise<void> {
  const said = past(until);
  const first = said[0]?.at ?? until;
  for (const user of ["Ann", "Bob"]) await chat.join(user, SAMPLE, first - HOUR);
  const results = await chat.historyOf(SAMPLE).batchStore(said.slice(0, -UNREAD).map((message) => ({ message })));
  for (const { ok, error } of results) if (!ok) throw error;
  for (const { from, text, at } of said.slice(-UNREAD)) await chat.send(from, SAMPLE, text, at);
}
