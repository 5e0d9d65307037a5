/** One segment: its blocks to size, its index and filter, and the rows of a block. */

import { useEffect, useState } from "preact/hooks";
import type { SegmentBlock, SegmentDescription, SegmentRow } from "tabstore";

import { Fact, Size } from "../engine/parts.tsx";
import { bytes, count, counted, instant } from "../lib/format.ts";
import { storedKeyText, treeTitle } from "../lib/inside.ts";
import { shortText } from "../lib/values.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";

const ROWS = 10;

function cellText({ name, op, version, value }: SegmentRow["cells"][number]): string {
  if (op === "deleteColumn") return `${name}: column deleted`;
  const at = version === null ? "" : ` at ${instant(version)}`;
  return op === "deleteVersion" ? `${name}: version deleted${at}` : `${name} = ${value === undefined ? "" : shortText(value, 40)}${at}`;
}

function blockText(block: SegmentBlock, number: number): string {
  const from = `${treeTitle(block)}, from ${storedKeyText(block.firstKey)}`;
  return `Block ${number}: ${bytes(block.bytes)}, ${counted(block.entries, "row")}, ${from}${block.isCached ? ", in the cache" : ""}`;
}

/** The blocks, each as wide as its bytes. */
function Blocks({
  blocks,
  chosen,
  onChoose,
}: {
  readonly blocks: readonly SegmentBlock[];
  readonly chosen: number;
  readonly onChoose: (block: number) => void;
}) {
  return (
    <ol class="blocks">
      {blocks.map((block, number) => (
        <li key={number} style={{ flexGrow: block.bytes }}>
          <button
            type="button"
            class={`block ${block.isCached ? "cached" : ""}`}
            aria-pressed={number === chosen}
            aria-label={blockText(block, number)}
            title={blockText(block, number)}
            onClick={() => onChoose(number)}
          />
        </li>
      ))}
    </ol>
  );
}

/** The facts of a segment. It may be gone when it is asked for: a compaction has replaced it. */
export function SegmentFacts({ segmentId, onClose }: { readonly segmentId: number; readonly onClose: () => void }) {
  const [block, setBlock] = useState(0);
  const [found, setFound] = useState<SegmentDescription | null>();
  const action = useAction();
  useEffect(() => setBlock(0), [segmentId]);
  useEffect(() => {
    let over = false;
    action.run(async () => {
      const read = await database().segment(segmentId, { block, rows: ROWS });
      if (!over) setFound(read);
    });
    return () => {
      over = true;
    };
  }, [segmentId, block]);
  return (
    <section class="segment-facts" aria-labelledby="segment-title">
      <div class="row">
        <h2 id="segment-title">Segment {segmentId}</h2>
        <button type="button" class="button small push" onClick={onClose}>
          Close
        </button>
      </div>
      <ErrorNote error={action.error} />
      {found === null && <p class="hint">It is gone: a compaction has replaced it.</p>}
      {found !== undefined && found !== null && (
        <>
          <Blocks blocks={found.blocks} chosen={block} onChoose={setBlock} />
          <div class="segment-figures">
            <Fact label="Blocks">{count(found.blocks.length)}</Fact>
            <Fact label="Index and filter">
              <Size value={found.indexBytes} />
            </Fact>
            <Fact label="Filter">{found.filter === null ? "none" : `${count(found.filter.bits)} bits for ${counted(found.filter.keys, "key")}`}</Fact>
            <Fact label="Sequence numbers">
              {found.oldestSeqno ?? "–"} to {found.newestSeqno ?? "–"}
            </Fact>
            <Fact label="Deletions">{count(found.deletes)}</Fact>
          </div>
          <h3>
            First rows of block {block} <span class="faint">{found.blocks[block] !== undefined && blockText(found.blocks[block], block)}</span>
          </h3>
          <ul class="segment-rows">
            {found.rows.map((row) => (
              <li key={`${row.tree}-${storedKeyText(row.key)}-${row.seqno}`}>
                <b>{storedKeyText(row.key)}</b> <span class="tag">{row.change}</span> <span class="faint">no. {row.seqno}</span>{" "}
                {row.cells.map(cellText).join(", ")}
                {row.hasMore && " …"}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
