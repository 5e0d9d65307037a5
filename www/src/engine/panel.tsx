/** The inside of the engine, live: memtable, log, segments by level, cache, work done, space used. */

import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Metrics } from "tabstore";

import { bytes, count, share } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { askToKeep, metrics, readMetrics, storageUse, watchMetrics, writeRates } from "../state/metrics.ts";
import { database, session } from "../state/session.ts";
import { rowsChanged } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { ClockControl } from "./clock.tsx";
import { Curve } from "./curve.tsx";
import { Levels } from "./levels.tsx";
import { Fact, Gauge, Group } from "./parts.tsx";

function Memory({ metrics: { memtable, log } }: { readonly metrics: Metrics }) {
  return (
    <Group title="Memory and log">
      <Gauge label="Memtable" value={memtable.bytes} most={memtable.budget} />
      <Fact label="Changes in it">{count(memtable.entries)}{memtable.frozen > 0 && ` + ${memtable.frozen} being flushed`}</Fact>
      <Fact label="Log">{count(log.records)} {log.records === 1 ? "record" : "records"}, {bytes(log.bytes)}</Fact>
    </Group>
  );
}

function Work({ metrics: { work } }: { readonly metrics: Metrics }) {
  const flushed = work.bytesFlushed;
  return (
    <Group title="Work since opened">
      <div class="rate"><Fact label="Writes a second">{count(Math.round(writeRates.value.at(-1) ?? 0))}</Fact><Curve values={writeRates.value} label="Writes a second, the last minute" /></div>
      <Fact label="Writes">{count(work.writes)} in {count(work.commits)} {work.commits === 1 ? "commit" : "commits"}</Fact>
      <Fact label="Flushes">{count(work.flushes)}, {bytes(flushed)}</Fact>
      <Fact label="Compactions">{count(work.compactions)}, {bytes(work.bytesCompactedIn)} → {bytes(work.bytesCompacted)}</Fact>
      <Fact label="Write amplification" title="Bytes written by flushes and compactions, for each byte flushed">{flushed > 0 ? ((flushed + work.bytesCompacted) / flushed).toFixed(2) : "–"}</Fact>
    </Group>
  );
}

function Cache({ metrics: { cache } }: { readonly metrics: Metrics }) {
  return (
    <Group title="Block cache">
      <Gauge label="Filled" value={cache.bytes} most={cache.capacity} />
      <Fact label="Hits">{share(cache.hits, cache.hits + cache.misses)} of {count(cache.hits + cache.misses)}</Fact>
    </Group>
  );
}

function Space({ metrics: { wasmMemoryBytes, manifest, epoch } }: { readonly metrics: Metrics }) {
  const use = storageUse.value;
  return (
    <Group title="Space">
      {use === undefined ? <Fact label="Storage of this origin">the browser does not say</Fact> : <>
        <Gauge label="Storage of this origin" value={use.usage} most={use.quota} />
        <Fact label="Eviction">{use.persisted ? "protected by the browser" : <button type="button" class="link" title="Ask the browser never to evict this data" onClick={() => void askToKeep()}>possible; ask for protection</button>}</Fact>
      </>}
      <Fact label="WebAssembly memory">{bytes(wasmMemoryBytes)}</Fact>
      <Fact label="Manifest, epoch">{count(manifest)}, {count(epoch)}</Fact>
    </Group>
  );
}

/** The panel. */
export function EnginePanel() {
  const [open, setOpen] = useState(true);
  const action = useAction();
  useSignalEffect(() => (session.value.state === "open" ? watchMetrics() : undefined));
  const reading = metrics.value;
  const act = (operation: string, work: () => Promise<void>) => action.run(async () => {
    await logged(operation, database().name, work);
    await readMetrics();
    // A compaction may remove for good what was hidden, which shows when options are raised again.
    rowsChanged.value += 1;
  });
  return (
    <aside class={`engine ${open ? "" : "closed"}`} aria-label="Engine">
      <div class="engine-head">
        <h2><button type="button" class="button quiet engine-toggle" aria-expanded={open} onClick={() => setOpen(!open)}><Icon name="engine" /> Engine</button></h2>
        {open && <div class="row push">
          <button type="button" class="button small" disabled={action.busy} title="Write what is in memory into segments" onClick={() => act("Flush", () => database().flush())}>Flush</button>
          <button type="button" class="button small" disabled={action.busy} title="Merge all segments and remove for good what is hidden" onClick={() => act("Compact", () => database().compact())}>Compact</button>
        </div>}
      </div>
      {open && <ErrorNote error={action.error} />}
      {open && reading !== undefined && (
        <div class="engine-body">
          <ClockControl now={reading.now} />
          <Memory metrics={reading} />
          <Levels metrics={reading} />
          <Cache metrics={reading} />
          <Work metrics={reading} />
          <Space metrics={reading} />
        </div>
      )}
    </aside>
  );
}
