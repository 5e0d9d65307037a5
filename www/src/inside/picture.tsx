/** The picture: log, memtables and segments, newest data on top, along the keys. */

import type { ReadTrace, StoreDescription, TreeDescription } from "tabstore";

import { type Box, type Lane, partText, picture, verdicts } from "../lib/inside.ts";
import { bytes, counted, share } from "../lib/format.ts";

/** The width of the drawing in its own units; it is stretched to the room that there is. */
const WIDTH = 1000;
/** Heights of boxes in pixels, of the smallest and of the largest. */
const LEAST = 8;
const MOST = 30;
/** A box is at least so wide. */
const LEAST_WIDTH = 4;

/** The props of what draws boxes. */
interface Drawn {
  readonly verdictOf: ReadonlyMap<number, string>;
  readonly selected: number | undefined;
  readonly onSelect: (segment: number) => void;
}

function SegmentBox({ box, height, verdictOf, selected, onSelect }: Drawn & { readonly box: Box; readonly height: number }) {
  const { segmentId } = box.part;
  const tall = LEAST + box.height * (MOST - LEAST);
  const width = Math.max(LEAST_WIDTH, (box.to - box.from) * WIDTH);
  const verdict = verdictOf.get(segmentId);
  const text = `${partText(box.part)}${verdict === undefined ? "" : `. The last read: ${verdict.replaceAll("-", " ")}`}`;
  return (
    <rect
      class={`segment ${verdict === undefined ? "" : `verdict-${verdict}`} ${selected === segmentId ? "selected" : ""}`}
      x={Math.min(box.from * WIDTH, WIDTH - width)}
      y={height - tall}
      width={width}
      height={tall}
      style={{ "--newness": box.newness.toFixed(2) }}
      role="button"
      tabindex={0}
      aria-label={text}
      onClick={() => onSelect(segmentId)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onSelect(segmentId);
      }}
    >
      <title>{text}</title>
    </rect>
  );
}

function LaneLine({ lane, bounds, ...drawn }: Drawn & { readonly lane: Lane; readonly bounds: readonly number[] }) {
  const height = LEAST + Math.max(...lane.boxes.map((box) => box.height)) * (MOST - LEAST);
  return (
    <li class="lane">
      <span class="lane-name">L{lane.level}</span>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height} role="group" aria-label={`Level ${lane.level}`}>
        {bounds.map((at) => (
          <line key={at} class="bound" x1={at * WIDTH} x2={at * WIDTH} y1={0} y2={height} />
        ))}
        {lane.boxes.map((box) => (
          <SegmentBox key={`${box.part.partitionId}-${box.part.segmentId}`} box={box} height={height} {...drawn} />
        ))}
      </svg>
    </li>
  );
}

function Memory({ reading, budget, trace }: { readonly reading: StoreDescription; readonly budget: number; readonly trace: ReadTrace | undefined }) {
  const { log, memtables } = reading;
  return (
    <>
      <li class="lane">
        <span class="lane-name">Log</span>
        <span class="lane-text">
          {counted(log.records, "record")}, {bytes(log.bytes)}
          {log.inFiles ? ", in files" : ""}
        </span>
      </li>
      {memtables.map((memtable) => {
        const source = memtable.frozen ? "frozen" : "memtable";
        const asked = trace?.steps.some((step) => step.source === source) ?? false;
        return (
          <li class={`lane ${asked ? "asked" : ""}`} key={`${source}-${memtable.logStart}`}>
            <span class="lane-name">{memtable.frozen ? "Frozen" : "Memtable"}</span>
            <span class="lane-fill" title={share(memtable.bytes, budget)}>
              <span class={`lane-filled ${source}`} style={{ width: `${Math.min(100, (100 * memtable.bytes) / budget)}%` }} />
            </span>
            <span class="lane-text">
              {counted(memtable.entries, "entry", "entries")}, {bytes(memtable.bytes)}
            </span>
          </li>
        );
      })}
    </>
  );
}

/** The picture. */
export function Picture({
  reading,
  budget,
  tree,
  trace,
  selected,
  onSelect,
}: {
  readonly reading: StoreDescription;
  /** Bytes that a memtable may have. */
  readonly budget: number;
  readonly tree: TreeDescription | undefined;
  readonly trace: ReadTrace | undefined;
  readonly selected: number | undefined;
  readonly onSelect: (segment: number) => void;
}) {
  const { lanes, bounds } = tree === undefined ? { lanes: [], bounds: [] } : picture(tree);
  const drawn = { verdictOf: verdicts(trace), selected, onSelect };
  return (
    <section class="inside-picture" aria-label="Log, memtables and segments">
      <ol class="lanes">
        <Memory reading={reading} budget={budget} trace={trace} />
        {lanes.map((lane) => (
          <LaneLine key={`${lane.level}-${lane.level === 0 ? lane.boxes[0]?.part.segmentId : ""}`} lane={lane} bounds={bounds} {...drawn} />
        ))}
      </ol>
      {lanes.length === 0 && (
        <p class="hint">
          {reading.memtables.some(({ entries }) => entries > 0) ? "No segment: everything is in memory and in the log." : "No segment, and nothing in memory."}
        </p>
      )}
      {lanes.length > 0 && (
        <p class="hint">
          Along the line lie the keys, from the first to the last; above is newer. A box is as high as its segment is large, and the stronger its colour, the
          newer it is. {bounds.length > 0 && "Lines show where partitions meet. "}Choose a box to see its blocks.
        </p>
      )}
    </section>
  );
}
