/** Lines with their answers: tables, JSON, sentences, and errors with the wrong word marked. */

import type { TabStoreError } from "tabstore";
import { type Answer, cellText, factsText, ShellError, type TableAnswer, visible } from "tabstore/shell";

import { asError } from "../lib/ended-call.ts";
import { TypedText } from "../browse/value.tsx";
import { useColumns } from "../ui/column-pager.tsx";
import { useSome } from "../ui/some.tsx";
import type { Entry } from "./state.ts";

/** How many rows are shown at first. */
const MOST_ROWS = 50;

function Rows({ columns, rows }: TableAnswer) {
  const { shown, more } = useSome(rows.length, MOST_ROWS, "rows");
  const places = columns.map((_, at) => String(at));
  const { names, pager } = useColumns(places, Math.min(shown, MOST_ROWS));
  const at = names.map(Number);
  return (
    <>
      {pager}
      <div class="grid-scroll shell-rows" tabIndex={0} role="group" aria-label="Rows of the answer">
        <table class="grid">
          <thead>
            <tr>
              {at.map((place) => (
                <th key={place} scope="col">
                  {columns[place]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, line) => (
              <tr key={line}>
                {at.map((place) => {
                  const cell = row[place];
                  const isNumber = cell?.type === "INTEGER" || cell?.type === "DOUBLE";
                  return (
                    <td key={place} class={isNumber ? "right" : ""}>
                      {cell !== undefined && <TypedText type={cell.type} text={visible(cellText(cell))} most={200} />}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </>
  );
}

function AnswerText({ answer }: { readonly answer: Answer }) {
  if (answer.kind === "none" || answer.kind === "clear") return null;
  return (
    <div class="shell-answer">
      {answer.kind === "table" && answer.rows.length > 0 && <Rows {...answer} />}
      {answer.kind === "json" && (
        <pre tabIndex={0} role="group" aria-label="JSON of the answer">
          {answer.json}
        </pre>
      )}
      {answer.kind === "text" && <pre>{answer.text}</pre>}
      {answer.kind === "quit" && <p>Close the shell with the key ` or the button above.</p>}
      {answer.note !== undefined && <p class="hint">{answer.note}</p>}
      {answer.kind !== "quit" && <p class="shell-facts">{factsText(answer)}</p>}
    </div>
  );
}

/** A line with its wrong stretch marked, the message and the right form. */
function Wrong({ line, error }: { readonly line: string; readonly error: ShellError }) {
  const { start, end, message, usage } = error;
  return (
    <div class="shell-wrong" role="alert">
      <p class="shell-marked">
        {visible(line.slice(0, start))}
        <mark>{visible(line.slice(start, Math.max(end, start + 1))) || " "}</mark>
        {visible(line.slice(Math.max(end, start + 1)))}
      </p>
      <p>{message}</p>
      {usage !== undefined && (
        <p class="hint">
          Usage: <code>{usage}</code>
        </p>
      )}
    </div>
  );
}

/** What the database has refused. */
function Refused({ error }: { readonly error: TabStoreError }) {
  return (
    <div class="shell-wrong" role="alert">
      <p>
        {error.code !== "Error" && <code>{error.code}</code>} {error.message}
      </p>
      {error.hint !== undefined && <p class="hint">{error.hint}</p>}
    </div>
  );
}

/** A line, and what became of it. */
export function EntryView({ entry: { line, answer, error } }: { readonly entry: Entry }) {
  return (
    <li>
      {!(error instanceof ShellError) && <p class="shell-line">{visible(line)}</p>}
      {answer !== undefined && <AnswerText answer={answer} />}
      {error instanceof ShellError ? <Wrong line={line} error={error} /> : error !== undefined && <Refused error={asError(error)} />}
    </li>
  );
}
