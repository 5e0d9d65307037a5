/** How far the import is, and how it ended. */

import { bytes, count, counted, elapsed } from "../lib/format.ts";
import { route, showTable } from "../state/route.ts";
import { session } from "../state/session.ts";
import { Icon } from "../ui/icon.tsx";
import { Banner, ErrorNote } from "../ui/notice.tsx";
import { cutOff, forgetCutOff } from "./cut-off.ts";
import { cancelImport, type Job, job } from "./job.ts";

const TITLES: Readonly<Record<Job["state"], string>> = { running: "Importing", done: "Imported", cancelled: "Cancelled:", failed: "Stopped:" };

/** Rows left out that are listed with their reasons. */
const SHOWN = 20;

function rate({ rows, ms }: Job): string {
  return ms > 0 ? `${count(Math.round((rows * 1000) / ms))} rows/s` : "";
}

/** The text for screen readers. It changes rarely, or it could not be followed. */
function announcement({ state, rows, tableName }: Job): string {
  return state === "running" ? `Importing into ${tableName}` : `${TITLES[state]} ${counted(rows, "row")} stored in ${tableName}`;
}

function Skipped({ job: { result } }: { readonly job: Job }) {
  if (result === undefined || result.skipped === 0) return null;
  return (
    <details class="hint">
      <summary>
        {counted(result.skipped, "row")} left out{result.skipped > SHOWN && `, the first ${SHOWN} of them:`}
      </summary>
      <ul>
        {result.failures.slice(0, SHOWN).map(({ row, error }) => (
          <li key={row}>{error.message}</li>
        ))}
      </ul>
    </details>
  );
}

/** What became of rows whose key was there, and whether the table has as many rows more as it should. */
function Duplicates({ job: { result, more, tableName } }: { readonly job: Job }) {
  if (result === undefined) return null;
  const { rows, replaced, skippedDuplicates } = result;
  const expected = rows - replaced;
  return (
    <>
      {replaced > 0 && <p class="hint">{counted(replaced, "row")} replaced an earlier one with the same key.</p>}
      {skippedDuplicates > 0 && <p class="hint">{counted(skippedDuplicates, "row")} left out: the key was there.</p>}
      {more !== undefined && more !== expected && (
        <p class="hint wrong" role="alert">
          {tableName} has {count(more)} rows more than before, not {count(expected)}: another tab has written it meanwhile, or rows are past their time to live.
        </p>
      )}
    </>
  );
}

/** An import that a reload of the page has ended: what is stored of it looks whole and is not. */
function CutOff() {
  const cut = cutOff.value;
  if (cut === undefined || session.value.state !== "open" || session.value.db.name !== cut.instance) return null;
  return (
    <Banner
      tone="warning"
      title={`The import of ${cut.source} into ${cut.tableName} was cut off`}
      actions={
        <button type="button" class="button" onClick={forgetCutOff}>
          Close
        </button>
      }
    >
      The page was left while it ran. {counted(cut.rows, "row")} or a few more are stored; the others are not. Import the file again to have all of it.
    </Banner>
  );
}

/** The card. */
export function JobCard() {
  return (
    <>
      <CutOff />
      <CurrentJob />
    </>
  );
}

function CurrentJob() {
  const current = job.value;
  if (current === undefined || session.value.state !== "open" || session.value.db !== current.db) return null;
  const { state, rows, totalRows, bytes: read, totalBytes, ms, tableName, source, result, error } = current;
  const running = state === "running";
  // One that has ended well is told where its rows are. Another one has to be seen wherever a person is.
  const elsewhere = route.value.table !== tableName || route.value.account !== undefined || route.value.view !== undefined;
  if (state === "done" && elsewhere) return null;
  return (
    <section class={`job ${state}`} aria-label="Import">
      <div class="row">
        <b>{TITLES[state]}</b>{" "}
        <span>
          {source} {running ? "into" : "→"}{" "}
          <button type="button" class="link" onClick={() => showTable(tableName)}>
            {tableName}
          </button>
        </span>
        <span class="push">
          {running ? (
            <button type="button" class="button" onClick={cancelImport}>
              Cancel
            </button>
          ) : (
            <button
              type="button"
              class="button quiet square"
              aria-label="Close"
              onClick={() => {
                job.value = undefined;
              }}
            >
              <Icon name="close" />
            </button>
          )}
        </span>
      </div>
      {running && <progress aria-label="Bytes read" max={totalBytes ?? 1} value={totalBytes === undefined ? undefined : read} />}
      <p class="job-figures">
        <span>
          <b>{count(rows)}</b>
          {running && totalRows !== undefined ? ` of ${count(totalRows)}` : ""} rows stored
        </span>
        <span>{rate(current)}</span>
        <span>
          {bytes(read)}
          {totalBytes !== undefined && running ? ` of ${bytes(totalBytes)}` : ""} read
        </span>
        <span>{elapsed(ms)}</span>
        {result !== undefined && <span>{count(result.consumed.write)} write units</span>}
      </p>
      {state === "cancelled" && <p class="hint">What had been stored before stays.</p>}
      <Skipped job={current} />
      <Duplicates job={current} />
      <ErrorNote error={error} />
      <span class="visually-hidden" role="status">
        {announcement(current)}
      </span>
    </section>
  );
}
