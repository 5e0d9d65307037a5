/** The partitions of a table: their places along the keys, their sizes and their load. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { KeyValue, PartitionDescription } from "tabstore";

import { Size } from "../engine/parts.tsx";
import { bytes, count, counted } from "../lib/format.ts";
import { shortText } from "../lib/values.ts";
import { partitions, watchPartitions } from "../state/partitions.ts";

/** A bound of a partition as people read it. */
function bound(value: KeyValue | null, open: string): string {
  return value === null ? open : value === "" ? "“”" : shortText(value, 24);
}

const range = ({ lowerBound, upperBound }: PartitionDescription) =>
  `${bound(lowerBound, "the first key")} to ${upperBound === null ? "the last key" : `before ${bound(upperBound, "")}`}`;

/** Ids that have not been there before are new: a split has made them. */
function useNew(shown: readonly PartitionDescription[] | undefined): ReadonlySet<number> {
  const known = useRef<Set<number> | undefined>(undefined);
  const ids = shown?.map(({ partitionId }) => partitionId) ?? [];
  const fresh = new Set(known.current === undefined ? [] : ids.filter((id) => !known.current?.has(id)));
  useEffect(() => {
    if (shown !== undefined) known.current = new Set([...(known.current ?? []), ...ids]);
  });
  return fresh;
}

function Block({
  one,
  whole,
  busiest,
  fresh,
}: {
  readonly one: PartitionDescription;
  readonly whole: number;
  readonly busiest: number;
  readonly fresh: boolean;
}) {
  const load = one.operationsPerSecond / Math.max(busiest, 1);
  return (
    <li
      class={`partition ${fresh ? "fresh" : ""}`}
      style={{ flexGrow: Math.max(one.bytes, whole / 60, 1), "--load": load.toFixed(2) }}
      title={`Partition ${one.partitionId}, ${range(one)}: ${bytes(one.bytes)}, ${count(one.operationsPerSecond)} operations a second`}
    />
  );
}

/** A strip with a block for each partition, as wide as what it holds, and on demand all of them as a table. */
export function Partitions({ tableName, column }: { readonly tableName: string; readonly column: string }) {
  const [open, setOpen] = useState(false);
  useEffect(() => watchPartitions(tableName), [tableName]);
  const shown = partitions.value;
  const fresh = useNew(shown);
  if (shown === undefined) return null;
  const whole = shown.reduce((sum, one) => sum + one.bytes, 0);
  const busiest = Math.max(...shown.map((one) => one.operationsPerSecond));
  return (
    <section class="partitions" aria-label="Partitions">
      <p class="partitions-head">
        <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {counted(shown.length, "partition")}
        </button>
        <span
          class="faint"
          title="A partition splits when it has grown or is asked for much, and merges with its neighbour when both are small and little is asked of them"
        >
          <Size value={whole} /> in segments, cut between values of {column}
        </span>
      </p>
      <ol class="partition-strip">
        {shown.map((one) => (
          <Block key={one.partitionId} one={one} whole={whole} busiest={busiest} fresh={fresh.has(one.partitionId)} />
        ))}
      </ol>
      {open && (
        <div class="partition-table grid-scroll" tabIndex={0} role="region" aria-label="All partitions">
          <table class="grid">
            <thead>
              <tr>
                <th scope="col">Id</th>
                <th scope="col">From</th>
                <th scope="col">To, not included</th>
                <th scope="col" class="right">
                  Stored
                </th>
                <th scope="col" class="right">
                  Operations a second
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <tr key={one.partitionId} class={fresh.has(one.partitionId) ? "fresh" : ""}>
                  <td>{one.partitionId}</td>
                  <td>{bound(one.lowerBound, "–")}</td>
                  <td>{bound(one.upperBound, "–")}</td>
                  <td class="right">{bytes(one.bytes)}</td>
                  <td class="right">{count(one.operationsPerSecond)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
