/** The code of a request, a tab for each language, and a button that copies it. */

import { useContext, useId, useState } from "preact/hooks";

import { showCode } from "../code/text.ts";
import { database } from "../state/session.ts";
import { AroundDialog } from "../ui/dialog.tsx";
import { focusMain } from "../ui/focus.ts";
import type { SameAsProps } from "../ui/same-as.tsx";
import { codeOf, LANGUAGES, type Language } from "./code.ts";

/** Which language was looked at last: the next dialog begins with it. */
let last: Language = "Shell";

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/** The panel. */
export function CodePanel({ request, table, lead }: SameAsProps) {
  const id = useId();
  const [language, setLanguage] = useState(last);
  const [told, setTold] = useState("");
  const { leave } = useContext(AroundDialog);
  if (request === undefined) return <p class="hint">Fill in the form first.</p>;
  const code = codeOf(language, request, database().name, table);
  const choose = (one: Language) => {
    last = one;
    setLanguage(one);
    setTold("");
  };
  const onKey = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = LANGUAGES[(LANGUAGES.indexOf(language) + step + LANGUAGES.length) % LANGUAGES.length] ?? "Shell";
    choose(next);
    document.getElementById(`${id}-${LANGUAGES.indexOf(next)}`)?.focus();
  };
  const copy = () =>
    navigator.clipboard.writeText(code).then(
      () => setTold("Copied."),
      () => setTold("The browser does not let the page copy: select the text."),
    );
  const toEditor = () => {
    focusMain();
    leave();
    showCode(code);
  };
  return (
    <div class="code-panel">
      <div class="row">
        <div class="button-group" role="tablist" aria-label={`${lead ?? "The same as"}, in`} onKeyDown={onKey}>
          {LANGUAGES.map((one, at) => (
            <button
              key={one}
              id={`${id}-${at}`}
              type="button"
              role="tab"
              class={`button small ${one === language ? "pressed" : ""}`}
              aria-selected={one === language}
              aria-controls={`${id}-code`}
              tabIndex={one === language ? 0 : -1}
              onClick={() => choose(one)}
            >
              {one}
            </button>
          ))}
        </div>
        <span class="row tight push">
          {/* A program has no file to read from. */}
          {language === "JavaScript" && request.operation !== "importRows" && (
            <button type="button" class="button quiet small" onClick={toEditor}>
              Open in Code
            </button>
          )}
          <button type="button" class="button quiet small" onClick={() => void copy()}>
            Copy
          </button>
        </span>
      </div>
      <pre id={`${id}-code`} role="tabpanel" aria-labelledby={`${id}-${LANGUAGES.indexOf(language)}`} tabIndex={0}>
        {code.trimEnd()}
      </pre>
      <p role="status" class={told === "" ? "visually-hidden" : "hint"}>
        {told}
      </p>
    </div>
  );
}
