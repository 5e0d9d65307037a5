/** The five steps of a lesson. */

import { useEffect, useState } from "preact/hooks";

import type { FrameTexts, LessonTexts } from "../texts/lessons.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";
import type { Classroom } from "./classroom.ts";
import { loadDocument } from "./documents.ts";
import { Editor } from "./editor.tsx";

/** What the steps are given. */
interface StepProps {
  readonly frame: FrameTexts;
  readonly texts: LessonTexts;
  readonly room: Classroom;
}

/** The first step: an answer is chosen before anything runs. */
export function Predict({ texts, room }: StepProps) {
  return (
    <fieldset class="lesson-options">
      <legend>{texts.question}</legend>
      {texts.options.map((option, at) => (
        <label key={at} class="check">
          <input
            type="radio"
            name="prediction"
            checked={room.predicted.value === at}
            onChange={() => {
              room.predicted.value = at;
            }}
          />
          <span>{option}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** What the store has proved, beside what was predicted. */
function Proof({ frame, texts, room }: StepProps) {
  const { outcome, predicted } = room;
  if (outcome.value === undefined) return null;
  const isRight = outcome.value === predicted.value;
  const truth = texts.options[outcome.value] ?? "";
  const said = predicted.value === undefined ? frame.proved(truth) : isRight ? frame.right : frame.wrong(truth);
  return (
    <p class={`lesson-verdict ${isRight ? "good" : predicted.value === undefined ? "" : "wrong"}`} role="status">
      {said}
    </p>
  );
}

/** The second step. A class may run the lines without a prediction of the page's: it says its own aloud. */
export function Run(props: StepProps & { readonly isTeacher: boolean }) {
  const { frame, room, isTeacher } = props;
  const hold = !isTeacher && room.predicted.value === undefined ? frame.predictFirst : undefined;
  const run = async (lines: readonly string[]) => {
    room.clear();
    await room.prove(lines);
  };
  return (
    <>
      <Editor texts={frame} room={room} lines={room.lesson.lines(room.seed)} hold={hold} onRun={run} />
      {room.isUsed.value && <p class="hint">{frame.used}</p>}
      {!isTeacher && <Proof {...props} />}
    </>
  );
}

function Document({ frame, name }: { readonly frame: FrameTexts; readonly name: string }) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState<unknown>();
  const load = () => {
    if (text === undefined) loadDocument(name).then(setText, setError);
  };
  return (
    <details class="lesson-document" onToggle={load}>
      <summary>
        {frame.document} <code>docs/{name}</code>
      </summary>
      <ErrorNote error={error} />
      {text !== undefined && (
        <pre tabIndex={0} lang="en">
          {text}
        </pre>
      )}
    </details>
  );
}

/** The third step. */
export function Explain(props: StepProps) {
  const { frame, texts, room } = props;
  return (
    <>
      {room.outcome.value === undefined ? <p class="hint">{frame.notRun}</p> : <Proof {...props} />}
      <p class="lesson-text">{texts.explain}</p>
      <Document frame={frame} name={room.lesson.document} />
    </>
  );
}

/** The last two steps: something to reach. */
export function Reach({ frame, texts, room, name }: StepProps & { readonly name: "task" | "harder" }) {
  const action = useAction();
  const verdict = room.verdicts.value[name];
  useEffect(() => room.clear(), [name]);
  const run = async (lines: readonly string[]) => {
    room.clear();
    await room.attempt(lines);
  };
  return (
    <>
      <p class="lesson-text">{texts[name](room.seed)}</p>
      <Editor key={name} texts={frame} room={room} lines={room.lesson[name].lines(room.seed)} onRun={run} />
      <p class="row">
        <button type="button" class="button" aria-disabled={action.busy} onClick={() => action.run(() => room.check(name))}>
          {frame.check}
        </button>
      </p>
      <ErrorNote error={action.error} />
      <p role="status" class={`lesson-verdict ${verdict === undefined ? "" : verdict.missing === undefined ? "good" : "wrong"}`}>
        {verdict !== undefined && (verdict.missing === undefined ? frame.reached : texts.messages[verdict.missing])}
      </p>
    </>
  );
}
