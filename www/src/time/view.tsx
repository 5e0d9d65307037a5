/** The time machine: clock, time to live and maximum of versions are dragged, and versions are seen to hide and to come back. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { StoredVersion, TableDescription } from "tabstore";

import { counted, instant, period } from "../lib/format.ts";
import { type Dot, lanesOf, placeIn, type Span, spanOf, windowOf } from "../lib/lanes.ts";
import { shortText, text } from "../lib/values.ts";
import { navigate, route } from "../state/route.ts";
import { database } from "../state/session.ts";
import { currentTable } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Select } from "../ui/field.tsx";
import { Headings } from "../ui/headings.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { copyTable, MOST_ROWS, type Moved, move, type Sandbox } from "./sandbox.ts";
import { TryVersion } from "./try-version.tsx";

const WIDTH = 1000;
const HEIGHT = 26;
const DAY = 86_400;
const MOST_DAYS = 30;
const MOST_OFFSET_DAYS = 365;
/** The height of the window of versions, at the foot of a lane. */
const BAND = 4;
const MOST_VERSIONS = 10;

const WHY = { expired: "hidden: expired", surplus: "hidden: surplus" } as const;
const state = ({ hidden }: Pick<Dot, "hidden">): string => (hidden === null ? "visible" : WHY[hidden]);

function Lane({ name, dots, span, moved }: { readonly name: string; readonly dots: readonly Dot[]; readonly span: Span; readonly moved: Moved }) {
  const now = placeIn(span, moved.clock) * WIDTH;
  const oldest = moved.timeToLive === -1 ? undefined : placeIn(span, moved.clock - moved.timeToLive * 1000) * WIDTH;
  const { from, to } = windowOf(moved.clock, moved);
  const band = [placeIn(span, from), placeIn(span, to)] as const;
  return (
    <li class="time-lane">
      <span class="lane-name">{name}</span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} height={HEIGHT} preserveAspectRatio="none" aria-hidden="true">
        {oldest !== undefined && <rect class="time-alive" x={oldest} y={0} width={Math.max(0, now - oldest)} height={HEIGHT} />}
        <rect class="time-window" x={band[0] * WIDTH} y={HEIGHT - BAND} width={(band[1] - band[0]) * WIDTH} height={BAND} />
        <line class="time-now" x1={now} x2={now} y1={0} y2={HEIGHT} />
      </svg>
      {dots.map((dot) => (
        <span
          key={dot.version}
          class={`time-dot ${dot.hidden === null ? "" : "hollow"}`}
          // The lane begins behind its name.
          style={{ "--at": dot.at.toFixed(4) }}
          title={`${shortText(dot.value, 40)} at ${instant(dot.version)}: ${state(dot)}`}
        />
      ))}
    </li>
  );
}

function Versions({ dots }: { readonly dots: readonly Dot[] }) {
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label="Stored versions">
      <table class="grid">
        <Headings titles={["Column", "Version", "Value", "A read"]} />
        <tbody>
          {dots.map((dot) => (
            <tr key={`${dot.column} ${dot.version}`}>
              <td>{dot.column}</td>
              <td>{instant(dot.version)}</td>
              <td>{shortText(dot.value, 60)}</td>
              <td>{state(dot)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The props of a slider. */
interface SliderProps {
  readonly label: string;
  readonly said: string;
  readonly least: number;
  readonly most: number;
  readonly step: number;
  readonly value: number;
  readonly onMove: (value: number) => void;
}

function Slider({ label, said, least, most, step, value, onMove }: SliderProps) {
  return (
    <label class="time-slider">
      <span>
        {label} <b>{said}</b>
      </span>
      <input
        type="range"
        min={least}
        max={most}
        step={step}
        value={value}
        aria-valuetext={said}
        onInput={(event) => onMove(event.currentTarget.valueAsNumber)}
      />
    </label>
  );
}

function Machine({ sandbox }: { readonly sandbox: Sandbox }) {
  const [row, setRow] = useState(0);
  const [moved, setMoved] = useState(sandbox.begun);
  const [versions, setVersions] = useState<Readonly<Record<string, readonly StoredVersion[]>>>({});
  const [span, setSpan] = useState<Span>(() => spanOf([], sandbox.begun.clock, sandbox.begun.timeToLive));
  const action = useAction();
  // The newest wish alone is carried out: a slider has many on its way.
  const wish = useRef(0);
  const chosen = sandbox.rows[row];
  const go = async (to: Moved, isNew: boolean): Promise<void> => {
    if (chosen === undefined) return;
    const mine = ++wish.current;
    const read = await move(sandbox, chosen, to);
    if (mine !== wish.current) return;
    setVersions(read);
    const all = Object.values(read).flatMap((column) => column.map(({ version }) => version));
    if (isNew) setSpan(spanOf(all, to.clock, to.timeToLive));
  };
  const drag = (change: Partial<Moved>): void => {
    const to = { ...moved, ...change };
    setMoved(to);
    go(to, false).catch((error: unknown) => action.run(() => Promise.reject(error)));
  };
  useEffect(() => action.run(() => go(moved, true)), [row]);
  const lanes = lanesOf(versions, span);
  const dots = lanes.flatMap(([, own]) => own);
  const hidden = dots.filter(({ hidden: why }) => why !== null).length;
  const days = moved.timeToLive === -1 ? MOST_DAYS + 1 : Math.min(MOST_DAYS, Math.round(moved.timeToLive / DAY));
  const keyText = (at: number): string =>
    Object.values(sandbox.rows[at]?.primaryKey ?? {})
      .map((value) => text(value as never))
      .join(" · ");
  const compact = () =>
    action.run(async () => {
      await sandbox.db.compact();
      await go(moved, false);
    });
  return (
    <>
      <div class="row">
        <Select
          label="Row"
          value={String(row)}
          onChange={(at) => setRow(Number(at))}
          options={sandbox.rows.map((_, at) => [String(at), keyText(at)] as const)}
        />
        <button type="button" class="button" aria-disabled={action.busy} onClick={compact}>
          Compact
        </button>
        <span role="status">
          {counted(dots.length, "stored version")}, {hidden} hidden
        </span>
      </div>
      <ErrorNote error={action.error} />
      <div class="time-sliders">
        <Slider
          label="Clock"
          said={`${instant(moved.clock)} UTC`}
          least={span.from}
          most={span.to}
          step={1000}
          value={moved.clock}
          onMove={(clock) => drag({ clock })}
        />
        <Slider
          label="Time to live"
          said={moved.timeToLive === -1 ? "never expires" : period(moved.timeToLive)}
          least={1}
          most={MOST_DAYS + 1}
          step={1}
          value={days}
          onMove={(to) => drag({ timeToLive: to > MOST_DAYS ? -1 : to * DAY })}
        />
        <Slider
          label="Max versions"
          said={String(moved.maxVersions)}
          least={1}
          most={MOST_VERSIONS}
          step={1}
          value={Math.min(MOST_VERSIONS, moved.maxVersions)}
          onMove={(maxVersions) => drag({ maxVersions })}
        />
        <Slider
          label="Max version offset"
          said={period(moved.maxVersionOffset)}
          least={1}
          most={MOST_OFFSET_DAYS}
          step={1}
          value={Math.min(MOST_OFFSET_DAYS, Math.round(moved.maxVersionOffset / DAY))}
          onMove={(to) => drag({ maxVersionOffset: to * DAY })}
        />
      </div>
      {chosen !== undefined && (
        <TryVersion sandbox={sandbox} row={chosen} moved={moved} columns={lanes.map(([name]) => name)} onStored={() => go(moved, true)} />
      )}
      <ol class="time-lanes" aria-label="Versions along time">
        {lanes.map(([name, own]) => (
          <Lane key={name} name={name} dots={own} span={span} moved={moved} />
        ))}
      </ol>
      <p class="hint">
        The line is the clock; behind it is the time in which values live, and at the foot the window in which a version may be given. Hollow dots are stored,
        and reads hide them. They come back when they are moved back, until a compaction removes them.
      </p>
      <Versions dots={dots} />
    </>
  );
}

function Copied({ table }: { readonly table: TableDescription }) {
  const [sandbox, setSandbox] = useState<Sandbox>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let isOver = false;
    const copying = copyTable(database(), table);
    copying.then(
      (made) => !isOver && setSandbox(made),
      (refusal: unknown) => !isOver && setError(refusal),
    );
    return () => {
      isOver = true;
      copying.then(
        ({ db }) => db.close(),
        () => {},
      );
    };
  }, [table.tableName]);
  return (
    <div class="time-machine">
      <div class="table-head">
        <h1 id="title">Time machine: {table.tableName}</h1>
        <button type="button" class="button push" onClick={() => navigate({ ...route.value, view: undefined })}>
          Back to the rows
        </button>
      </div>
      <p class="hint">
        {sandbox?.hasMore ? `The first ${MOST_ROWS} rows` : "The rows"} of the table are copied into a sandbox in memory, with a clock of its own. The table
        itself is not changed.
      </p>
      <ErrorNote error={error} />
      {sandbox === undefined ? error === undefined && <p role="status">Copying …</p> : <Machine sandbox={sandbox} />}
      {sandbox?.rows.length === 0 && <p class="empty">There is no row to copy.</p>}
    </div>
  );
}

/** The view. */
export function TimeView() {
  const table = currentTable.value;
  return table === undefined ? null : <Copied key={table.tableName} table={table} />;
}
