/** The buttons for background work. */

import { useState } from "preact/hooks";
import type { DueWork } from "tabstore";

import { counted } from "../lib/format.ts";
import { reasonText } from "../lib/inside.ts";
import { logged } from "../state/calls.ts";
import { readInside } from "../state/inside.ts";
import { readMetrics } from "../state/metrics.ts";
import { database } from "../state/session.ts";
import { served } from "../state/served.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";

/** What the next step would do. */
function dueText(next: DueWork | null): string {
  if (next === null) return "Nothing is due";
  if (next.type === "flush") return "Next: the frozen memtable is flushed";
  const where = next.tableName === null ? "" : ` of ${next.tableName}`;
  if (next.type !== "compaction") return `Next: a ${next.type} of partition ${next.partitionId}${where}`;
  return `Next: a compaction${where}, ${counted(next.inputs.length, "part")} to level ${next.toLevel ?? "–"}, because ${reasonText(next.reason)}`;
}

/** The bar. Work can be paused in memory only. */
export function WorkBar({ isPaused }: { readonly isPaused: boolean }) {
  const action = useAction();
  const [next, setNext] = useState<DueWork | null>();
  const act = (operation: string, work: () => Promise<unknown>) =>
    action.run(async () => {
      await logged(operation, database().name, work);
      if (isPaused && operation !== "ResumeWork" && operation !== "StepWork") setNext((await database().pauseWork()).next);
      await Promise.all([readInside(), readMetrics()]);
    });
  const button = (label: string, title: string, operation: string, work: () => Promise<unknown>) => (
    <button type="button" class="button small" aria-disabled={action.busy} title={title} onClick={() => act(operation, work)}>
      {label}
    </button>
  );
  const isSandbox = database().persistence === "memory" && served === undefined;
  return (
    <div class="work-bar">
      {button("Flush", "Write what is in memory into segments", "Flush", () => database().flush())}
      {button("Compact", "Merge all segments and remove for good what is hidden", "Compact", () => database().compact())}
      {isSandbox &&
        (isPaused ? (
          <>
            {button("Step", "Do the next piece of background work", "StepWork", async () => setNext((await database().stepWork()).next))}
            {button("Resume", "Let background work go on", "ResumeWork", () => database().resumeWork())}
          </>
        ) : (
          button("Pause", "Hold flushes and compactions, to do them step by step", "PauseWork", async () => setNext((await database().pauseWork()).next))
        ))}
      <span class="hint" role="status">
        {isPaused && next !== undefined ? dueText(next) : isSandbox ? "" : "Pause and step work in an instance in memory."}
      </span>
      <ErrorNote error={action.error} />
    </div>
  );
}
