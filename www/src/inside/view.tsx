/** The inside of the store: its segments along the keys, what a read does, what is done in the background and why. */

import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import type { ReadTrace, TreeDescription } from "tabstore";

import { treeTitle } from "../lib/inside.ts";
import { insideError, store, watchInside } from "../state/inside.ts";
import { metrics } from "../state/metrics.ts";
import { showInside, route } from "../state/route.ts";
import { session } from "../state/session.ts";
import { Select } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { AskKey } from "./ask-key.tsx";
import { Events } from "./events.tsx";
import { Figures } from "./figures.tsx";
import { Picture } from "./picture.tsx";
import { SegmentFacts } from "./segment-facts.tsx";
import { SegmentTable } from "./segment-table.tsx";
import { WorkBar } from "./work-bar.tsx";

/** The tree that is shown: the one chosen, else that of the table in the address, else the largest table. */
function shownTree(trees: readonly TreeDescription[], chosen: number | undefined): TreeDescription | undefined {
  const { table } = route.value;
  const size = (tree: TreeDescription): number => tree.segments.reduce((sum, part) => sum + part.bytes, 0);
  const tables = trees.filter(({ kind }) => kind === "table" || kind === "index");
  return (
    trees.find(({ tree }) => tree === chosen) ??
    tables.find(({ tableName }) => tableName === table) ??
    (table === undefined ? [...tables].sort((a, b) => size(b) - size(a))[0] : undefined)
  );
}

/** The view. */
export function InsideView() {
  const [own, setOwn] = useState<number>();
  const [segment, setSegment] = useState<number>();
  const [trace, setTrace] = useState<ReadTrace>();
  useSignalEffect(() => (session.value.state === "open" ? watchInside() : undefined));
  const reading = store.value;
  const trees = reading?.trees ?? [];
  const tree = shownTree(trees, own);
  const choose = (number: string): void => {
    const chosen = trees.find((one) => String(one.tree) === number);
    setSegment(undefined);
    setTrace(undefined);
    const isOwn = chosen?.kind !== "table" && chosen?.kind !== "index";
    setOwn(isOwn ? chosen?.tree : undefined);
    if (!isOwn) showInside(chosen?.tableName ?? undefined);
  };
  return (
    <div class="inside">
      <div class="table-head">
        <h1 id="title">Inside</h1>
        {trees.length > 0 && (
          <Select
            label="Shown"
            value={String(tree?.tree ?? "")}
            onChange={choose}
            options={[...(tree === undefined ? [["", "Nothing"] as const] : []), ...trees.map((one) => [String(one.tree), treeTitle(one)] as const)]}
          />
        )}
        <WorkBar isPaused={reading?.isPaused ?? false} />
      </div>
      <ErrorNote error={insideError.value} />
      {reading !== undefined && (
        <>
          <Picture reading={reading} budget={metrics.value?.memtable.budget ?? 1} tree={tree} trace={trace} selected={segment} onSelect={setSegment} />
          {tree !== undefined && (tree.kind === "table" || tree.kind === "index") && <AskKey tree={tree} trace={trace} onTrace={setTrace} />}
          {segment !== undefined && <SegmentFacts segmentId={segment} onClose={() => setSegment(undefined)} />}
          <Figures reading={reading} tree={tree} />
          <Events trees={trees} />
          {tree !== undefined && <SegmentTable tree={tree} onSelect={setSegment} />}
        </>
      )}
    </div>
  );
}
