/** The LSM trees: for each table its levels, and how much lies in each. */

import type { LevelMetrics, Metrics, TreeMetrics } from "tabstore";

import { segmentSums, treeName } from "../lib/figures.ts";
import { bytes, count, counted } from "../lib/format.ts";
import { Count, Fact, Group, Size } from "./parts.tsx";

function Level({ level, widest }: { readonly level: LevelMetrics; readonly widest: number }) {
  const width = widest === 0 ? 0 : Math.max(2, (100 * level.bytes) / widest);
  return (
    <li title={`Level ${level.level}: ${counted(level.segments, "segment")}, ${count(level.entries)} changes, ${bytes(level.bytes)}`}>
      <span class="level-name">L{level.level}</span>
      <span class="level-track">
        <span class="level-bar" style={{ width: `${width}%` }} />
      </span>
      <span class="level-size">
        {level.segments === 0 ? (
          <data value={0} title="In a segment that counts where more of it is">
            shared
          </data>
        ) : (
          <Count value={level.segments} />
        )}
        , <Size value={level.bytes} />
      </span>
    </li>
  );
}

function Tree({ tree, widest }: { readonly tree: TreeMetrics; readonly widest: number }) {
  const { name, isTable } = treeName(tree);
  return (
    <div class="tree">
      <h4>{isTable ? name : <span class="faint">{name}</span>}</h4>
      <ol class="levels">
        {tree.levels.map((level) => (
          <Level key={level.level} level={level} widest={widest} />
        ))}
      </ol>
    </div>
  );
}

/** All trees that have segments. Bars are drawn to one scale, so that they can be compared. */
export function Levels({ metrics }: { readonly metrics: Metrics }) {
  const { trees, segments } = metrics;
  const shown = trees.filter(({ levels }) => levels.length > 0);
  const { rest } = segmentSums(metrics);
  const widest = Math.max(0, ...shown.flatMap(({ levels }) => levels.map((level) => level.bytes)));
  return (
    <Group
      title={
        <>
          Segments{" "}
          <span class="faint">
            <Count value={segments.count} />, <Size value={segments.bytes} />
          </span>
        </>
      }
    >
      {shown.length === 0 ? (
        <p class="hint">None yet: everything is in memory and in the log.</p>
      ) : (
        shown.map((tree) => <Tree key={tree.tree} tree={tree} widest={widest} />)
      )}
      {rest > 0 && (
        <Fact
          label="Indexes and leftovers"
          title="The indexes and filters of the segments, and rows that have been merged into other segments: their space is given back with the segment"
        >
          {<Size value={rest} />}
        </Fact>
      )}
    </Group>
  );
}
