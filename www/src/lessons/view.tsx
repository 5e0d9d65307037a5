/** A lesson: predict, run, explain, check, break it; one step at a time, at the reader's pace. */

import { useEffect, useState } from "preact/hooks";

import { Picture } from "../inside/picture.tsx";
import { formatRoute, type Route } from "../lib/route.ts";
import { language } from "../state/language.ts";
import { navigate, route } from "../state/route.ts";
import { TAGS } from "../texts/language.ts";
import { FRAME_TEXTS, type FrameTexts, LESSON_TEXTS, type LessonTexts } from "../texts/lessons.ts";
import { type Catalogues, useTexts } from "../texts/use-texts.ts";
import { useTitle } from "../ui/title.ts";
import { LanguageSwitch } from "../ui/language-switch.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { type Classroom, openClassroom } from "./classroom.ts";
import { LESSONS, loadLesson } from "./lesson.ts";
import { Explain, Predict, Reach, Run } from "./steps.tsx";

const STEPS = 5;
const SEED = 7;

const numberOf = ({ lesson = 1 }: Route): number => Math.min(Math.max(lesson, 1), LESSONS);
const stepOf = ({ step = 1 }: Route): number => Math.min(Math.max(step, 1), STEPS);

/** Another place in the lessons, in the same mode. */
const at = (change: Route): Route => {
  const { seed, teacher } = route.value;
  return { lesson: numberOf(route.value), step: 1, seed, teacher, ...change };
};

/** Opens a lesson's instance, and closes it when another one is shown. */
function useClassroom(number: number, seed: number, turn: number): { readonly room?: Classroom; readonly error?: unknown } {
  const [state, setState] = useState<{ readonly room?: Classroom; readonly error?: unknown }>({});
  useEffect(() => {
    let isOver = false;
    setState({});
    const opening = loadLesson(number).then((lesson) => openClassroom(lesson, seed));
    opening.then(
      (room) => {
        if (!isOver) setState({ room });
      },
      (error: unknown) => {
        if (!isOver) setState({ error });
      },
    );
    return () => {
      isOver = true;
      opening.then(
        (room) => room.close(),
        () => {},
      );
    };
  }, [number, seed, turn]);
  return state;
}

function Pictured({ room }: { readonly room: Classroom }) {
  const [segment, setSegment] = useState<number>();
  const reading = room.reading.value;
  if (reading === undefined) return null;
  const { store, budget } = reading;
  const tree = store.trees.find(({ kind, tableName }) => kind === "table" && tableName === room.lesson.pictured);
  return (
    <div lang="en">
      <Picture reading={store} budget={budget} tree={tree} trace={room.trace.value} selected={segment} onSelect={setSegment} />
    </div>
  );
}

interface BodyProps {
  readonly frame: FrameTexts;
  readonly texts: LessonTexts;
  readonly room: Classroom;
}

/** The step that is shown. A class sees no explanation until somebody asks for it. */
function Body(props: BodyProps) {
  const step = stepOf(route.value);
  const isTeacher = route.value.teacher === true;
  const [isShown, setShown] = useState(false);
  useEffect(() => setShown(false), [step, isTeacher]);
  if (step === 1) return <Predict {...props} />;
  if (step === 2) return <Run {...props} isTeacher={isTeacher} />;
  if (step > 3) return <Reach {...props} name={step === 4 ? "task" : "harder"} />;
  if (!isTeacher || isShown) return <Explain {...props} />;
  return (
    <p>
      <button type="button" class="button" onClick={() => setShown(true)}>
        {props.frame.showAnswer}
      </button>
    </p>
  );
}

function Head({ frame, number, onReset }: { readonly frame: FrameTexts; readonly number: number; readonly onReset: () => void }) {
  const isTeacher = route.value.teacher === true;
  return (
    <div class="table-head">
      <p class="hint lesson-number">{frame.lesson(number, LESSONS)}</p>
      <span class="row push">
        <LanguageSwitch />
        <a class="button quiet small" href={formatRoute(at({ step: stepOf(route.value), teacher: isTeacher ? undefined : true }))}>
          {isTeacher ? frame.student : frame.teacher}
        </a>
        <button type="button" class="button quiet small" onClick={onReset}>
          {frame.reset}
        </button>
        <a class="button quiet small" href={formatRoute({})}>
          {frame.all}
        </a>
      </span>
      <h1 id="title">{frame.cards[number - 1]?.title}</h1>
    </div>
  );
}

function Foot({ frame, number, step }: { readonly frame: FrameTexts; readonly number: number; readonly step: number }) {
  return (
    <nav class="row lesson-foot" aria-label={frame.heading}>
      <button type="button" class="button" disabled={step === 1} onClick={() => navigate(at({ step: step - 1 }))}>
        {frame.back}
      </button>
      <span role="status">{frame.stepOf(step, STEPS)}</span>
      <button type="button" class="button primary" disabled={step === STEPS} onClick={() => navigate(at({ step: step + 1 }))}>
        {frame.next}
      </button>
      {number > 1 && (
        <a class="button quiet push" href={formatRoute(at({ lesson: number - 1 }))}>
          {frame.previousLesson}
        </a>
      )}
      {number < LESSONS && (
        <a class={`button quiet ${number > 1 ? "" : "push"}`} href={formatRoute(at({ lesson: number + 1 }))}>
          {frame.nextLesson}
        </a>
      )}
    </nav>
  );
}

function Opened({ frame, number }: { readonly frame: FrameTexts; readonly number: number }) {
  const [turn, setTurn] = useState(0);
  const seed = route.value.seed ?? SEED;
  const { texts, error } = useTexts(LESSON_TEXTS[number - 1] as Catalogues<LessonTexts>);
  const { room, error: refusal } = useClassroom(number, seed, turn);
  const step = stepOf(route.value);
  const reset = () => {
    navigate(at({}));
    setTurn(turn + 1);
  };
  const title = frame.cards[number - 1]?.title;
  useTitle(title);
  return (
    <main id="main" class={`lesson ${route.value.teacher === true ? "teacher" : ""}`} tabIndex={-1} aria-labelledby="title" lang={TAGS[language.value]}>
      <Head frame={frame} number={number} onReset={reset} />
      <p class="lesson-goal">{texts?.goal}</p>
      <ol class="lesson-steps">
        {frame.steps.map((name, index) => (
          <li key={name} aria-current={index + 1 === step ? "step" : undefined}>
            <a href={formatRoute(at({ step: index + 1 }))}>{name}</a>
          </li>
        ))}
      </ol>
      <ErrorNote error={error ?? refusal} />
      {texts !== undefined && room !== undefined ? (
        <div class={room.lesson.pictured === undefined ? "lesson-body" : "lesson-body pictured"}>
          <section class="stack" aria-labelledby="step-title">
            <h2 id="step-title">{frame.steps[step - 1]}</h2>
            <Body frame={frame} texts={texts} room={room} />
          </section>
          <Pictured room={room} />
        </div>
      ) : (
        refusal === undefined && <p role="status">{frame.opening}</p>
      )}
      <Foot frame={frame} number={number} step={step} />
    </main>
  );
}

/** The page. */
export function LessonView() {
  const { texts, error } = useTexts(FRAME_TEXTS);
  const number = numberOf(route.value);
  if (texts === undefined) return <main id="main">{error === undefined ? null : <ErrorNote error={error} />}</main>;
  return <Opened key={number} frame={texts} number={number} />;
}
