/** The store's clock; where it is an injected one, also the means to travel in time [V10]. */

import { useState } from "preact/hooks";

import { instant } from "../lib/format.ts";
import { parseInstant } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { readMetrics } from "../state/metrics.ts";
import { route } from "../state/route.ts";
import { database } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";
import { Fact, Group } from "./parts.tsx";

const STEPS: readonly (readonly [string, number])[] = [
  ["+1 s", 1000],
  ["+1 h", 3_600_000],
  ["+1 day", 86_400_000],
  ["−1 day", -86_400_000],
];

/** Moves the clock. The address follows with the next reading. */
async function moveClock(now: number): Promise<void> {
  await logged("SetClock", `${instant(now)} UTC`, () => database().setClock(now));
  await readMetrics();
}

function Travel({ now }: { readonly now: number }) {
  const [typed, setTyped] = useState("");
  const action = useAction();
  return (
    <form
      class="stack tight"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        action.run(() => moveClock(parseInstant(typed)));
      }}
    >
      <div class="button-group" role="group" aria-label="Move the clock">
        {STEPS.map(([label, ms]) => (
          <button key={label} type="button" class="button small" aria-disabled={action.busy} onClick={() => action.run(() => moveClock(now + ms))}>
            {label}
          </button>
        ))}
      </div>
      <div class="row tight">
        <input
          type="text"
          name="clock"
          aria-label="Set the clock to"
          placeholder="date and time, or ms"
          value={typed}
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" class="button small" disabled={typed.trim() === ""} aria-disabled={action.busy}>
          Set
        </button>
      </div>
      <ErrorNote error={action.error} />
    </form>
  );
}

/** The clock. */
export function ClockControl({ now }: { readonly now: number }) {
  const injected = route.value.clock !== undefined;
  return (
    <Group title={injected ? "Clock of your own" : "Clock"}>
      <Fact label="UTC">
        <time dateTime={new Date(now).toISOString()}>{instant(now).slice(0, 19)}</time>
      </Fact>
      {injected && (
        <Fact label="Milliseconds">
          <code>{now}</code>
        </Fact>
      )}
      {injected && <Travel now={now} />}
    </Group>
  );
}
