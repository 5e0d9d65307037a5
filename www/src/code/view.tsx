/** The code view: a program on the open instance, and what it says. */

import type { EditorView } from "@codemirror/view";
import { useRef } from "preact/hooks";

import { elapsed } from "../lib/format.ts";
import { language } from "../state/language.ts";
import { served } from "../state/served.ts";
import { database } from "../state/session.ts";
import { CODE_TEXTS, type CodeTexts } from "../texts/code.ts";
import { TAGS } from "../texts/language.ts";
import { useTexts } from "../texts/use-texts.ts";
import { Select } from "../ui/field.tsx";
import { LanguageSwitch } from "../ui/language-switch.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { Editor, goToLine } from "./editor.tsx";
import { EXAMPLES, type ExampleName } from "./examples.ts";
import type { Outcome, Output } from "./runner.ts";
import { clear, leftOut, outcome, output, run, stop } from "./state.ts";
import { before, program, replacements, replaceProgram, setProgram } from "./text.ts";

/** What is said of a program. */
function outcomeText(texts: CodeTexts, now: Outcome): string {
  switch (now.kind) {
    case "none":
      return "";
    case "starting":
      return texts.starting;
    case "running":
      return texts.running;
    case "done":
      return texts.done(elapsed(now.ms));
    case "failed":
      return texts.failed;
    case "stopped":
      return texts.stopped;
    case "hung":
      return texts.hung(now.seconds);
  }
}

/** The props of a line of the output. */
interface OutputLineProps {
  readonly texts: CodeTexts;
  readonly said: Output;
  readonly onLine: (line: number) => void;
}

function OutputLine({ texts, said, onLine }: OutputLineProps) {
  if (said.level !== "failure") return <li class={`code-${said.level}`}>{said.text}</li>;
  const { name, message, hint, line } = said.failure;
  return (
    <li class="code-failure">
      <b>{name}</b>
      {line !== undefined && (
        <>
          {" "}
          <button type="button" class="link" onClick={() => onLine(line)}>
            {texts.line(line)}
          </button>
        </>
      )}
      {`: ${message}`}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </li>
  );
}

function OutputList({ texts, onLine }: Pick<OutputLineProps, "texts" | "onLine">) {
  const lines = output.value;
  return (
    <section class="code-output" aria-labelledby="code-output">
      <h2 id="code-output">{texts.output}</h2>
      {leftOut.value > 0 && <p class="hint">{texts.leftOut(leftOut.value)}</p>}
      {lines.length === 0 && <p class="hint">{texts.nothing}</p>}
      <div role="log" aria-labelledby="code-output" tabIndex={0} lang="en" hidden={lines.length === 0}>
        <ol>
          {lines.map((said) => (
            <OutputLine key={said.id} texts={texts} said={said} onLine={onLine} />
          ))}
        </ol>
      </div>
    </section>
  );
}

/** The buttons above the program. */
function Bar({ texts, onRun }: { readonly texts: CodeTexts; readonly onRun: () => void }) {
  const names = Object.keys(EXAMPLES) as ExampleName[];
  const chosen = names.find((name) => EXAMPLES[name] === program.value) ?? "";
  const old = before.value;
  const isBusy = outcome.value.kind === "starting" || outcome.value.kind === "running";
  const mayGoOn = isBusy || outcome.value.kind === "done" || outcome.value.kind === "failed";
  return (
    <div class="row code-bar">
      <button type="button" class="button primary" title={texts.runTitle} aria-keyshortcuts="Control+Enter" onClick={onRun}>
        {texts.run}
      </button>
      <button type="button" class="button" title={texts.stopTitle} aria-disabled={!mayGoOn} onClick={stop}>
        {texts.stop}
      </button>
      <button type="button" class="button quiet" onClick={clear}>
        {texts.clear}
      </button>
      {old !== undefined && (
        <button type="button" class="button quiet" onClick={() => replaceProgram(old)}>
          {texts.bringBack}
        </button>
      )}
      <label class="row tight push">
        {texts.example}{" "}
        <Select<ExampleName | "">
          value={chosen}
          options={[["", texts.choose], ...names.map((name) => [name, texts.examples[name]] as const)]}
          onChange={(name) => name !== "" && replaceProgram(EXAMPLES[name])}
        />
      </label>
    </div>
  );
}

/** The view. */
export function CodeView() {
  const { texts, error } = useTexts(CODE_TEXTS);
  const editor = useRef<EditorView>(undefined);
  const db = database();
  if (texts === undefined) return error === undefined ? null : <ErrorNote error={error} />;
  const isReachable = served !== undefined || db.persistence !== "memory";
  const start = () => {
    if (isReachable) run(db);
  };
  return (
    <div class="code" lang={TAGS[language.value]}>
      <div class="table-head">
        <h1 id="title">{texts.title}</h1>
        <span class="push">
          <LanguageSwitch />
        </span>
      </div>
      <p class="hint">{texts.lead}</p>
      {!isReachable && <p class="told">{texts.inMemory}</p>}
      {isReachable && <Bar texts={texts} onRun={start} />}
      <Editor text={program.value} replacements={replacements.value} label={texts.editor} db={db} onChange={setProgram} onRun={start} view={editor} />
      <p role="status" class={`code-state ${outcome.value.kind}`}>
        {outcomeText(texts, outcome.value)}
      </p>
      <OutputList texts={texts} onLine={(line) => editor.current !== undefined && goToLine(editor.current, line)} />
    </div>
  );
}
