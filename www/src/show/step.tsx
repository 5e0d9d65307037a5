/** One step of the show: its sentence, and what can be done there. */

import { useState } from "preact/hooks";
import type { ReadTrace } from "tabstore";

import { count, elapsed } from "../lib/format.ts";
import { route } from "../state/route.ts";
import type { ShowTexts } from "../texts/show.ts";
import { Ask } from "./ask.tsx";
import { Doors } from "./doors.tsx";
import { killPage, type Show } from "./state.ts";
import { memtableBytes, type StepName } from "./steps.ts";

function Found({ texts, balance }: { readonly texts: ShowTexts["balance"]; readonly balance: NonNullable<Show["balance"]> }) {
  return (
    <dl class="show-balance">
      {(["acknowledged", "expected", "found", "lost"] as const).map((name) => (
        <div key={name} class={name === "lost" ? (balance.lost === 0 ? "good" : "wrong") : ""}>
          <dt>{texts[name]}</dt>
          <dd>{count(balance[name])}</dd>
        </div>
      ))}
      <div>
        <dt>{texts.opened}</dt>
        <dd>{elapsed(balance.openMs)}</dd>
      </div>
    </dl>
  );
}

function Kill({ texts, now, onKill }: { readonly texts: ShowTexts; readonly now: Show; readonly onKill: () => void }) {
  const [isEnding, setEnding] = useState(false);
  return (
    <p class="row">
      <button
        type="button"
        class="button danger"
        aria-disabled={isEnding}
        onClick={() => {
          if (isEnding) return;
          setEnding(true);
          onKill();
          killPage(now);
        }}
      >
        {texts.kill}
      </button>
      <span role="status">{isEnding ? texts.killing : ""}</span>
    </p>
  );
}

/** The props. */
interface StepProps {
  readonly name: StepName;
  readonly texts: ShowTexts;
  readonly now: Show;
  readonly trace: ReadTrace | undefined;
  readonly onTrace: (trace: ReadTrace | undefined) => void;
  /** Goes to the step behind this one, in the address alone: the page is about to end. */
  readonly onKill: () => void;
}

/** The step. */
export function Step({ name, texts, now, trace, onTrace, onKill }: StepProps) {
  const { reading, budget, done, acknowledged, balance } = now;
  const isMemory = now.db.persistence === "memory";
  const memtable = reading?.memtables.find(({ frozen }) => !frozen);
  const filled = memtableBytes(reading);
  const { title, text } = texts.steps[name];
  const said = text({ acknowledged, entries: memtable?.entries ?? 0, filled, budget, done, balance, isMemory });
  return (
    <section class="show-step" aria-labelledby="step-title" data-step={name} key={route.value.step}>
      <h2 id="step-title" tabIndex={-1}>
        {title}
      </h2>
      <p class="show-sentence">{said ?? (name === "found" ? texts.waitingFor.found : texts.waiting(filled, budget))}</p>
      {name === "kill" && !isMemory && <Kill texts={texts} now={now} onKill={onKill} />}
      {name === "found" && balance !== undefined && <Found texts={texts.balance} balance={balance} />}
      {name === "ask" && <Ask texts={texts.ask} now={now} trace={trace} onTrace={onTrace} />}
      {name === "ask" && <Doors texts={texts.doors} />}
    </section>
  );
}
