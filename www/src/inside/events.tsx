/** What was done in the background, and why. */

import type { TreeDescription, WorkEvent } from "tabstore";

import { elapsed, instant } from "../lib/format.ts";
import { eventText, treeTitle } from "../lib/inside.ts";
import { workEvents } from "../state/inside.ts";
import { useSome } from "../ui/some.tsx";

const STEP = 12;

/** Whose work it was. A flush is about all trees. */
function subject(event: WorkEvent, trees: readonly TreeDescription[]): string {
  if (event.type === "flush") return "all";
  return treeTitle(trees.find(({ tree }) => tree === event.tree) ?? event);
}

/** The list, newest first. */
export function Events({ trees }: { readonly trees: readonly TreeDescription[] }) {
  const all = workEvents.value;
  const { shown, more } = useSome(all.length, STEP, "events");
  return (
    <section class="inside-events" aria-labelledby="events-title">
      <h2 id="events-title">Background work</h2>
      {all.length === 0 ? (
        <p class="hint">None since this view was opened. Write rows, or press Flush.</p>
      ) : (
        <div class="grid-scroll" tabIndex={0} role="region" aria-label="Events">
          <table class="grid">
            <thead>
              <tr>
                <th scope="col" class="right">
                  No.
                </th>
                <th scope="col">When</th>
                <th scope="col">Of</th>
                <th scope="col">What and why</th>
                <th scope="col" class="right">
                  Took
                </th>
              </tr>
            </thead>
            <tbody>
              {all.slice(0, shown).map((event) => (
                <tr key={event.position}>
                  <td class="right">{event.position}</td>
                  <td>{instant(event.time).slice(11)}</td>
                  <td>{subject(event, trees)}</td>
                  <td class="event-text">{eventText(event)}</td>
                  <td class="right">{event.tookMs === 0 ? "–" : elapsed(event.tookMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more}
    </section>
  );
}
