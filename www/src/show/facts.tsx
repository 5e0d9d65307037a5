/** The figures of the show as a table: the same facts as the picture, for all who do not see it or do not want it to move. */

import { bytes, count } from "../lib/format.ts";
import type { ShowTexts } from "../texts/show.ts";
import type { Show } from "./state.ts";
import { memtableBytes, treeOf } from "./steps.ts";

/** The table. */
export function Facts({ texts, now }: { readonly texts: ShowTexts["facts"]; readonly now: Show }) {
  const { reading, done } = now;
  const tree = treeOf(reading);
  const facts: readonly (readonly [string, string])[] = [
    [texts.rows, count(now.acknowledged)],
    [texts.perSecond, now.perSecond === undefined ? texts.none : count(Math.round(now.perSecond))],
    [texts.log, reading === undefined ? texts.none : count(reading.log.records)],
    [texts.memtable, `${bytes(memtableBytes(reading))} / ${bytes(now.budget)}`],
    [texts.flushes, count(done.flushes)],
    [texts.merges, count(done.merges)],
    [texts.dropped, count(done.dropped)],
    [texts.segments, count(tree?.segments.length ?? 0)],
    [texts.partitions, count(tree?.partitions.length ?? 0)],
  ];
  return (
    <table class="show-facts">
      <caption>{texts.caption}</caption>
      <tbody>
        {facts.map(([label, value]) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
