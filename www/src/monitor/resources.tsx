/** What the instance uses of this browser: its cache, its space, and the tabs that share it. */

import type { Metrics, StorageInfo } from "tabstore";

import { Count, Fact, Gauge, Group, Size } from "../engine/parts.tsx";
import { PARTS } from "../engine/tabs.tsx";
import { readRequests } from "../lib/figures.ts";
import { count, counted, share } from "../lib/format.ts";

import { metrics, storage } from "../state/metrics.ts";
import { part } from "../state/tabs.ts";

const UNKNOWN = "the browser does not say";

/** The hits of the cache mean something only if rows were read. */
function Cache({ metrics: { cache, operations } }: { readonly metrics: Metrics }) {
  const [reads, looked] = [readRequests(operations), cache.hits + cache.misses];
  const own = looked === 0 ? "" : `, and the ${counted(looked, "look-up")} so far ${looked === 1 ? "is" : "are"} the store's own`;
  return (
    <Group title="Block cache">
      <Gauge label="Filled" value={cache.bytes} most={cache.capacity} />
      {reads === 0 ? (
        <p class="hint">Nobody has read rows since the instance was opened{own}. So there is no hit rate yet.</p>
      ) : looked === 0 ? (
        <p class="hint">All {counted(reads, "read")} so far found their rows in memory, before any block was looked for.</p>
      ) : (
        <>
          <Fact label="Blocks found in it">
            {share(cache.hits, looked)} of {count(looked)}
          </Fact>
          <p class="hint">Look-ups of compactions, and of writes that read their row first, are among them.</p>
        </>
      )}
    </Group>
  );
}

function Space({ space: { live, garbage, used, quota } }: { readonly space: StorageInfo }) {
  return (
    <Group title="Storage">
      <Fact label="Live data of this instance">
        <Size value={live} />
      </Fact>
      <Fact label="Garbage" title="Parts of segments that nothing uses any more. Compact gives them back">
        <Size value={garbage} />
      </Fact>
      {used === null || quota === null ? (
        <Fact label="Used of the origin's quota">{UNKNOWN}</Fact>
      ) : (
        <>
          <Gauge label="Used of the origin's quota" value={used} most={quota} />
          <p class="hint">{share(used, quota)} of it. All instances of this origin share it, with whatever else the origin stores.</p>
        </>
      )}
    </Group>
  );
}

function Handles({ sessions }: { readonly sessions: number }) {
  const leads = part.value !== "follows";
  const others = Math.max(0, sessions - 1);
  const followers = leads ? others : Math.max(0, sessions - 2);
  return (
    <Group title="Leader and followers">
      <Fact label="The leader" title={PARTS[part.value]}>
        {leads ? "this tab" : "another tab"}
      </Fact>
      {!leads && <Fact label="This tab">a follower</Fact>}
      <Fact label={leads ? "Handles that share it" : "Other handles that follow"}>
        <Count value={followers} />
      </Fact>
      <p class="hint">
        The engine runs in the leader's tab, and counts the calls of all. {counted(sessions, "handle")} {sessions === 1 ? "is" : "are"} open; a tab with the
        console has one.
      </p>
    </Group>
  );
}

/** The part of the page. */
export function Resources() {
  const reading = metrics.value;
  const space = storage.value;
  if (reading === undefined) return null;
  return (
    <section class="monitor-part" aria-labelledby="resources-title">
      <h2 id="resources-title">Cache, storage, tabs</h2>
      <div class="resources">
        <Cache metrics={reading} />
        {space !== undefined && <Space space={space} />}
        <Handles sessions={reading.sessions} />
      </div>
    </section>
  );
}
