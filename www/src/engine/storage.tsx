/** The space of the instance and of its origin, and the browser's promise to keep it. */

import { useState } from "preact/hooks";
import type { StorageInfo } from "tabstore";

import { askToKeep, storage } from "../state/metrics.ts";
import { served } from "../state/served.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { Fact, Gauge, Group, Size } from "./parts.tsx";

const UNKNOWN = "the browser does not say";

/** Whether the browser keeps the data when it makes room, and a way to ask for that. */
function Promised({ persisted }: { readonly persisted: boolean | null }) {
  const [declined, setDeclined] = useState(false);
  const action = useAction();
  const ask = () => action.run(async () => setDeclined(!(await askToKeep())));
  return (
    <>
      <Fact label="Kept when space runs out">{persisted === null ? UNKNOWN : persisted ? "promised" : "not promised"}</Fact>
      {persisted === false && (
        <div>
          <button type="button" class="button small" aria-disabled={action.busy} onClick={ask}>
            Ask the browser to keep it
          </button>
        </div>
      )}
      <p class="hint" role="status">
        {persisted === true ? "The browser keeps the data of this origin." : declined ? "The browser has declined. It may decide otherwise later." : ""}
      </p>
      <ErrorNote error={action.error} />
    </>
  );
}

function Origin({ used, quota }: StorageInfo) {
  return used === null || quota === null ? <Fact label="Used by this origin">{UNKNOWN}</Fact> : <Gauge label="Used by this origin" value={used} most={quota} />;
}

/** The group. */
export function Storage() {
  const space = storage.value;
  if (space === undefined) return null;
  return (
    <Group title="Storage">
      <Fact label="Live data" title="Segments and log of this instance, as far as they are in use">
        <Size value={space.live} />
      </Fact>
      <Fact label="Garbage" title="Parts of segments that nothing uses any more. Compact gives them back">
        <Size value={space.garbage} />
      </Fact>
      <Fact label="Reserve for deletions" title="Kept so that rows can be deleted when the disk is full">
        <Size value={space.reserve} />
      </Fact>
      {served === undefined && <Origin {...space} />}
      {database().persistence === "indexeddb" && <Promised persisted={space.persisted} />}
    </Group>
  );
}
