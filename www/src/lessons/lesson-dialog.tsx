/** A lesson: its subject, a button that runs it, and the result of each step. */

import { effect } from "@preact/signals";
import { useState } from "preact/hooks";

import { instant } from "../lib/format.ts";
import { logged } from "../state/calls.ts";
import { navigate, showTable } from "../state/route.ts";
import { database, mayCreate, session } from "../state/session.ts";
import { refreshTables, rowsChanged } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import type { Lesson, StepResult } from "./lessons.ts";
import { chosenLesson } from "./state.ts";

/** Whether the open instance will do; a lesson that needs a clock must be able to set it. */
function fits(lesson: Lesson): boolean {
  const current = session.value;
  return current.state === "open" && (lesson.clock === undefined || current.wanted.clock !== undefined);
}

/** Opens an instance for the lesson where the one that is open will not do. */
async function prepare(lesson: Lesson): Promise<void> {
  if (fits(lesson)) return;
  mayCreate(lesson.instance);
  navigate({ instance: lesson.instance, clock: lesson.clock });
  const left = session.value;
  await new Promise<void>((resolve, reject) => {
    const stop = effect(() => {
      const current = session.value;
      // The address is followed a moment later: until then the session is still the one that was left.
      if (current === left || current.state === "none" || current.wanted.name !== lesson.instance || (!fits(lesson) && current.state !== "refused")) return;
      // An effect runs before it has given its way out.
      queueMicrotask(() => stop());
      if (current.state === "refused") reject(current.error);
      else resolve();
    });
  });
}

function Steps({ steps }: { readonly steps: readonly StepResult[] }) {
  return (
    <ol class="steps" aria-live="polite">
      {steps.map(({ what, outcome, right }) => (
        <li key={what} class={right ? "right" : "wrong-step"}>
          <span>{what}</span>
          <span class="outcome">
            <span class="mark">{right ? "✓" : "✗"}</span> {outcome}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Opened({ lesson }: { readonly lesson: Lesson }) {
  const [steps, setSteps] = useState<readonly StepResult[]>([]);
  const action = useAction();
  const close = () => {
    chosenLesson.value = undefined;
  };
  const run = () =>
    action.run(async () => {
      setSteps([]);
      await prepare(lesson);
      const taken: StepResult[] = [];
      await logged("Lesson", lesson.title, () =>
        lesson.run(database(), (step) => {
          taken.push(step);
          setSteps([...taken]);
        }),
      );
      await refreshTables();
      showTable(lesson.tableName);
      rowsChanged.value += 1;
    });
  const done = steps.length > 0 && !action.busy && action.error === undefined;
  return (
    <Dialog
      title={lesson.title}
      size="wide"
      onClose={close}
      footer={
        <>
          <button type="button" class="button" onClick={close}>
            {done ? "Look at the table" : "Close"}
          </button>
          <button type="button" class="button primary" aria-disabled={action.busy} autofocus onClick={run}>
            {done ? "Run again" : "Run the lesson"}
          </button>
        </>
      }
    >
      <div class="stack">
        <p>{lesson.about}</p>
        {!fits(lesson) && steps.length === 0 && (
          <p class="hint">
            Opens the instance {lesson.instance}
            {lesson.clock !== undefined && `, with its clock at ${instant(lesson.clock)} UTC`}.
          </p>
        )}
        <p class="hint">It makes the table {lesson.tableName} anew.</p>
        <Steps steps={steps} />
        {done && (
          <p role="status">
            <b>{steps.every(({ right }) => right) ? "Everything is as the documents say." : "Something is not as the documents say."}</b>
          </p>
        )}
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}

/** The lesson that is open, if one is. */
export function LessonDialog() {
  const lesson = chosenLesson.value;
  return lesson === undefined ? null : <Opened key={lesson.id} lesson={lesson} />;
}
