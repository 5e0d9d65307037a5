/** The segments as a table: the same facts as the picture, for those who do not see it. */

import type { TreeDescription } from "tabstore";

import { bytes, count } from "../lib/format.ts";
import { storedKeyText, treeTitle } from "../lib/inside.ts";
import { Headings } from "../ui/headings.tsx";
import { useSome } from "../ui/some.tsx";

const STEP = 50;
const COLUMNS = ["Segment", "Level", "Partition", "First key", "Last key", "Stored", "Rows", "Blocks", "Deletions"];

/** The table. */
export function SegmentTable({ tree, onSelect }: { readonly tree: TreeDescription; readonly onSelect: (segment: number) => void }) {
  const { shown, more } = useSome(tree.segments.length, STEP, "segments");
  return (
    <section aria-labelledby="segments-title">
      <h2 id="segments-title">Segments of {treeTitle(tree)}</h2>
      <div class="grid-scroll" tabIndex={0} role="region" aria-label="Segments as a table">
        <table class="grid">
          <Headings titles={COLUMNS} />
          <tbody>
            {tree.segments.slice(0, shown).map((part) => (
              <tr key={`${part.partitionId}-${part.segmentId}`}>
                <td>
                  <button type="button" class="link" onClick={() => onSelect(part.segmentId)}>
                    {part.segmentId}
                  </button>
                </td>
                <td>{part.level}</td>
                <td>{part.partitionId}</td>
                <td>{storedKeyText(part.firstKey)}</td>
                <td>{storedKeyText(part.lastKey)}</td>
                <td>{bytes(part.bytes)}</td>
                <td>{count(part.entries)}</td>
                <td>{count(part.blocks)}</td>
                <td>{count(part.deletes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </section>
  );
}
