/** The shell: the commands of the official tool on the open instance. It is loaded when somebody opens it. */

import "../styles/shell.css";

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { database } from "../state/session.ts";
import { toggleShell } from "../state/shell.ts";
import { Icon } from "../ui/icon.tsx";
import { EntryView } from "./answers.tsx";
import { question } from "./host.ts";
import { LineInput } from "./line-input.tsx";
import { entries, runLine, running, shellOf, usedTable, useShownTable } from "./state.ts";

/** A question in the place of the line. The focus goes to what changes nothing. */
function Ask() {
  const asked = question.value;
  const no = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => no.current?.focus(), []);
  if (asked === undefined) return null;
  return (
    <div class="row shell-question" role="group" aria-label="Question">
      <p role="alert">{asked.text}</p>
      <button type="button" class="button danger small" onClick={() => asked.answer(true)}>
        Delete it
      </button>
      <button ref={no} type="button" class="button small" onClick={() => asked.answer(false)}>
        Keep it
      </button>
    </div>
  );
}

/** The drawer. */
export function ShellDrawer() {
  const db = database();
  const made = shellOf(db);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => void useShownTable(made), [made]);
  const shown = entries.value;
  useLayoutEffect(() => {
    const place = list.current?.parentElement;
    if (place) place.scrollTop = place.scrollHeight;
  }, [shown]);
  return (
    <>
      <div class="shell-log" role="log" aria-label="Answers" tabIndex={0}>
        {shown.length === 0 && (
          <p class="hint">
            The lines of the official Table Store tool: <code>list</code>, <code>use -t mytable</code>, <code>scan --limit 10</code>,{" "}
            <code>{`get --pk '["86", 1]'`}</code> with the values of the key in order, <code>help</code>. Arrows bring back lines, Tab takes a proposal.
          </p>
        )}
        <ol ref={list}>
          {shown.map((entry) => (
            <EntryView key={entry.id} entry={entry} />
          ))}
        </ol>
      </div>
      <div class="shell-foot">
        <span class="shell-prompt">{`${db.name}${usedTable.value === undefined ? "" : `/${usedTable.value}`}>`}</span>
        {question.value === undefined ? <LineInput made={made} onRun={(line) => void runLine(made, line)} onLeave={toggleShell} /> : <Ask />}
        {running.value !== undefined && question.value === undefined && (
          <button type="button" class="button small" onClick={() => running.value?.abort()}>
            Stop
          </button>
        )}
        <button type="button" class="button quiet square" aria-label="Close the shell" title="Close the shell (`)" onClick={toggleShell}>
          <Icon name="close" />
        </button>
      </div>
    </>
  );
}
