/** The show: a throwaway instance at work, and one sentence at a time about what it does. The reader keeps the pace. */

import { useEffect, useState } from "preact/hooks";
import type { ReadTrace } from "tabstore";

import { Picture } from "../inside/picture.tsx";
import { SegmentTable } from "../inside/segment-table.tsx";
import { formatRoute } from "../lib/route.ts";
import { partText } from "../lib/inside.ts";
import { language } from "../state/language.ts";
import { navigate, route } from "../state/route.ts";
import { TAGS } from "../texts/language.ts";
import { SHOW_TEXTS, type ShowTexts } from "../texts/show.ts";
import { useTexts } from "../texts/use-texts.ts";
import { LanguageSwitch } from "../ui/language-switch.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { useTitle } from "../ui/title.ts";
import { Facts } from "./facts.tsx";
import { SPEEDS } from "./feed.ts";
import { beginShow, forgetShow, type Show, show, showError } from "./state.ts";
import { Step } from "./step.tsx";
import { STEPS, stepAt, treeOf } from "./steps.ts";

const goTo = (step: number): void => {
  if (step >= 1 && step <= STEPS.length) navigate({ step }, true);
};

/** Arrow keys and space, unless they belong to what has the focus. */
function useKeys(onSpace: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !(target instanceof Element)) return;
      if (target.closest("input, textarea, select, [role=region], pre") !== null) return;
      const isSpace = key === " " && target.closest("button, a, summary, [role=button]") === null;
      if (key !== "ArrowRight" && key !== "ArrowLeft" && !isSpace) return;
      event.preventDefault();
      if (isSpace) onSpace();
      else goTo(stepAt(route.peek().step) + (key === "ArrowRight" ? 1 : -1));
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

function Controls({ texts, now, isHeld, onHold }: { readonly texts: ShowTexts; readonly now: Show; readonly isHeld: boolean; readonly onHold: () => void }) {
  const [speed, setSpeed] = useState(now.feed.speed);
  return (
    <div class="row show-controls">
      <button type="button" class="button small" aria-pressed={isHeld} onClick={onHold}>
        {isHeld ? texts.go : texts.hold}
      </button>
      <fieldset class="row">
        <legend class="visually-hidden">{texts.speed}</legend>
        {SPEEDS.map((one) => (
          <button
            key={one}
            type="button"
            class="button small"
            aria-pressed={one === speed}
            onClick={() => {
              now.feed.speed = one;
              setSpeed(one);
            }}
          >
            ×{one}
          </button>
        ))}
      </fieldset>
    </div>
  );
}

function Opened({ texts, now, isHeld, onHold }: { readonly texts: ShowTexts; readonly now: Show; readonly isHeld: boolean; readonly onHold: () => void }) {
  const [trace, setTrace] = useState<ReadTrace>();
  const [segment, setSegment] = useState<number>();
  const step = stepAt(route.value.step);
  const name = STEPS[step - 1] ?? "log";
  const { reading, budget } = now;
  const tree = treeOf(reading);
  const part = tree?.segments.find(({ segmentId }) => segmentId === segment);
  // The path is one through the store as it is: the picture has to stand still beside it.
  const showPath = (path: ReadTrace | undefined) => {
    if (!isHeld) onHold();
    setTrace(path);
  };
  return (
    <div class="show-parts" data-step={name}>
      <div class="show-words">
        <Step name={name} texts={texts} now={now} trace={trace} onTrace={showPath} onKill={() => goTo(step + 1)} />
        <nav class="row" aria-label={texts.title}>
          <button type="button" class="button" disabled={step === 1} onClick={() => goTo(step - 1)}>
            {texts.back}
          </button>
          <span role="status">{texts.step(step, STEPS.length)}</span>
          <button type="button" class="button primary" disabled={step === STEPS.length} onClick={() => goTo(step + 1)}>
            {texts.next}
          </button>
        </nav>
        <p class="hint">{texts.keys}</p>
      </div>
      <div class="show-picture">
        <Controls texts={texts} now={now} isHeld={isHeld} onHold={onHold} />
        {reading !== undefined && (
          <div lang="en">
            <Picture reading={reading} budget={budget} tree={tree} trace={name === "ask" ? trace : undefined} selected={segment} onSelect={setSegment} />
            {part !== undefined && <p>{partText(part)}</p>}
          </div>
        )}
        <Facts texts={texts.facts} now={now} />
        {tree !== undefined && (
          <details>
            <summary>{texts.table}</summary>
            <div lang="en">
              <SegmentTable tree={tree} onSelect={setSegment} />
            </div>
          </details>
        )}
      </div>
    </div>
  );
}

function Running({ texts, onAgain }: { readonly texts: ShowTexts; readonly onAgain: () => void }) {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => beginShow(), []);
  useTitle(texts.title);
  const now = show.value;
  const hold = () => {
    const feed = show.peek()?.feed;
    if (feed === undefined) return;
    feed.isHeld = !feed.isHeld;
    setHeld(feed.isHeld);
  };
  useKeys(hold);
  return (
    <main id="main" class="show" tabIndex={-1} aria-labelledby="title" lang={TAGS[language.value]}>
      <div class="table-head">
        <h1 id="title">{texts.title}</h1>
        <span class="row push">
          <LanguageSwitch />
          <button
            type="button"
            class="button quiet small"
            onClick={() => {
              forgetShow();
              goTo(1);
              onAgain();
            }}
          >
            {texts.again}
          </button>
          <a class="button quiet small" href={formatRoute({})}>
            {texts.leave}
          </a>
        </span>
      </div>
      <ErrorNote error={showError.value} />
      {now !== undefined ? (
        <Opened texts={texts} now={now} isHeld={isHeld} onHold={hold} />
      ) : (
        showError.value === undefined && <p role="status">{texts.opening}</p>
      )}
    </main>
  );
}

/** The page. */
export function ShowView() {
  const { texts, error } = useTexts(SHOW_TEXTS);
  const [turn, setTurn] = useState(0);
  if (texts === undefined) return <main id="main">{error === undefined ? null : <ErrorNote error={error} />}</main>;
  return <Running key={turn} texts={texts} onAgain={() => setTurn(turn + 1)} />;
}
