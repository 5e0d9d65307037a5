/** The inside of the engine, live: tabs, memtable, log, segments by level, cache, work done, storage. */

import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Metrics } from "tabstore";

import { amplification, readRequests, waitsFor } from "../lib/figures.ts";
import { bytes, count, share } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { metrics, readMetrics, watchMetrics, writeRate, writeRates } from "../state/metrics.ts";
import { database, session } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { ClockControl } from "./clock.tsx";
import { Curve } from "./curve.tsx";
import { Levels } from "./levels.tsx";
import { Count, Fact, Gauge, Group, Size } from "./parts.tsx";
import { Storage } from "./storage.tsx";
import { Tabs } from "./tabs.tsx";

function Memory({ metrics: { memtable, log } }: { readonly metrics: Metrics }) {
  return (
    <Group title="Memory and log">
      <Gauge label="Memtable" value={memtable.bytes} most={memtable.budget} />
      <Fact label="Changes in it">
        <Count value={memtable.entries} />
        {memtable.frozen > 0 && ` + ${memtable.frozen} being flushed`}
      </Fact>
      <Fact label="Log">
        <Count value={log.records} /> {log.records === 1 ? "record" : "records"}, <Size value={log.bytes} />
      </Fact>
    </Group>
  );
}

const MEANING =
  "Bytes written into segments for each byte flushed or loaded, since the instance was opened. It is shown once that is as much as a " +
  "memtable holds, once compactions have read at least half of it, and while at least half of what is stored was written since";

function Work({ metrics }: { readonly metrics: Metrics }) {
  const { work } = metrics;
  const ratio = amplification(metrics);
  return (
    <Group title="Work since opened">
      <div class="rate">
        <Fact label="Writes in the last second">{writeRate.value === undefined ? "–" : <Count value={writeRate.value} />}</Fact>
        <Curve values={writeRates.value} label="Writes a second, the last minute" />
      </div>
      <Fact label="Writes" title="Those of the store itself, for its catalogue and its capacity meter, are among them">
        <Count value={work.writes} /> in <Count value={work.commits} /> {work.commits === 1 ? "commit" : "commits"}
      </Fact>
      <Fact label="Flushes">
        <Count value={work.flushes} />
      </Fact>
      <Fact label="Flushed and loaded" title="By flushes of the memtable, and by sorted rows, which become segments directly">
        <Size value={work.bytesFlushed} />
      </Fact>
      <Fact label="Compactions">
        <Count value={work.compactions} />
      </Fact>
      {work.compactions > 0 && (
        <Fact label="Compacted">
          <Size value={work.bytesCompactedIn} /> → <Size value={work.bytesCompacted} />
        </Fact>
      )}
      <Fact label="Written into segments" title="Flushed, loaded and compacted">
        <Size value={work.bytesFlushed + work.bytesCompacted} />
      </Fact>
      <Fact label="Write amplification" title={MEANING}>
        {"value" in ratio ? <data value={ratio.value}>{ratio.value.toFixed(2)}</data> : <span class="faint">{waitsFor(ratio, metrics)}</span>}
      </Fact>
    </Group>
  );
}

function Cache({ metrics: { cache, operations } }: { readonly metrics: Metrics }) {
  // Compactions look for blocks too: their hits are nobody's.
  const isRead = readRequests(operations) > 0;
  return (
    <Group title="Block cache">
      <Gauge label="Filled" value={cache.bytes} most={cache.capacity} />
      <Fact label="Hits">{isRead ? `${share(cache.hits, cache.hits + cache.misses)} of ${count(cache.hits + cache.misses)}` : "nobody has read yet"}</Fact>
    </Group>
  );
}

function Process({ metrics: { wasmMemoryBytes, manifest, epoch } }: { readonly metrics: Metrics }) {
  return (
    <Group title="Process">
      <Fact label="WebAssembly memory">{bytes(wasmMemoryBytes)}</Fact>
      <Fact label="Manifest, epoch">
        {count(manifest)}, {count(epoch)}
      </Fact>
    </Group>
  );
}

/** The panel. */
export function EnginePanel() {
  const [open, setOpen] = useState(true);
  const action = useAction();
  useSignalEffect(() => (session.value.state === "open" ? watchMetrics() : undefined));
  const reading = metrics.value;
  const act = (operation: string, work: () => Promise<void>) =>
    action.run(async () => {
      await logged(operation, database().name, work);
      await readMetrics();
      // A compaction may remove for good what was hidden, which shows when options are raised again.
      rowsChanged.value += 1;
    });
  return (
    <aside class={`engine ${open ? "" : "closed"}`} aria-label="Engine">
      <div class="engine-head">
        <h2>
          <button type="button" class="button quiet engine-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Icon name="engine" /> Engine
          </button>
        </h2>
        {open && (
          <div class="row push">
            <button
              type="button"
              class="button small"
              aria-disabled={action.busy}
              title="Write what is in memory into segments"
              onClick={() => act("Flush", () => database().flush())}
            >
              Flush
            </button>
            <button
              type="button"
              class="button small"
              aria-disabled={action.busy}
              title="Merge all segments and remove for good what is hidden"
              onClick={() => act("Compact", () => database().compact())}
            >
              Compact
            </button>
          </div>
        )}
      </div>
      {open && <ErrorNote error={action.error} />}
      {open && reading !== undefined && (
        <div class="engine-body">
          <ClockControl now={reading.now} />
          <Tabs metrics={reading} />
          <Memory metrics={reading} />
          <Levels metrics={reading} />
          <Cache metrics={reading} />
          <Work metrics={reading} />
          <Storage />
          <Process metrics={reading} />
        </div>
      )}
    </aside>
  );
}
