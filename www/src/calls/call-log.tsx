/** The console's calls of the database: the last one at the foot of the page, all of them on demand. */

import { useState } from "preact/hooks";

import { elapsed, instant } from "../lib/format.ts";
import { type Call, calls, clearCalls, consumedInAll, lastCall } from "../state/calls.ts";
import { Icon } from "../ui/icon.tsx";
import { CallSummary, Units } from "./call-summary.tsx";

function CallRow({ call }: { readonly call: Call }) {
  return (
    <tr class={call.error === undefined ? "" : "failed"}>
      <td class="faint">{instant(call.at).slice(11)}</td>
      <th scope="row">{call.operation}</th>
      <td class="whole">
        {call.subject}
        {call.error !== undefined && (
          <span class="wrong">
            <br />
            <code>{call.error.code}</code> {call.error.message}
          </span>
        )}
      </td>
      <td class="right">
        {call.error === undefined ? (
          <Units consumed={call.consumed} />
        ) : (
          <span class="faint" title="An error does not say what its call consumed. “Units and calls” counts it">
            not told
          </span>
        )}
      </td>
      <td class="right">{elapsed(call.ms)}</td>
    </tr>
  );
}

/** The log. */
export function CallLog() {
  const [open, setOpen] = useState(false);
  return (
    <section class={`calls ${open ? "open" : ""}`} aria-label="Calls">
      <div class="calls-bar">
        <button type="button" class="button quiet calls-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name="down" /> Calls
        </button>
        <span role="status" aria-live="polite" class="calls-last">
          {lastCall.value === undefined ? (
            "Nothing asked yet"
          ) : (
            <>
              <CallSummary call={lastCall.value} /> <span class="faint subject">{lastCall.value.subject}</span>
            </>
          )}
        </span>
        <span
          class="push calls-total"
          title="Capacity units that the console's own calls have consumed since this page was loaded. Units and calls has those of everybody"
        >
          this page, in all <Units consumed={consumedInAll.value} />
        </span>
        {open && (
          <button type="button" class="button small" onClick={clearCalls}>
            Clear
          </button>
        )}
      </div>
      {open && (
        <div class="grid-scroll calls-list" tabIndex={0} role="region" aria-label="All calls">
          <table class="grid">
            <thead>
              <tr>
                <th scope="col">
                  Time <span class="type">UTC</span>
                </th>
                <th scope="col">Operation</th>
                <th scope="col">About</th>
                <th scope="col" class="right">
                  Capacity units
                </th>
                <th scope="col" class="right">
                  Took
                </th>
              </tr>
            </thead>
            <tbody>
              {calls.value.map((call) => (
                <CallRow key={call.id} call={call} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
