/** The form that creates an instance, or opens one by name. */

import { useState } from "preact/hooks";
import type { InstanceKind } from "tabstore";

import { instant } from "../lib/format.ts";
import { parseInstant } from "../lib/values.ts";
import { navigate } from "../state/route.ts";
import { mayCreate } from "../state/session.ts";
import { Check, Field, Select, TextField } from "../ui/field.tsx";

/** The form of a name [I2]. */
const NAME = /^[A-Za-z][A-Za-z0-9-]{1,14}[A-Za-z0-9]$/;

function clockOf(typed: string): number | undefined {
  try {
    return parseInstant(typed);
  } catch {
    return undefined;
  }
}

/** The form. */
export function OpenForm() {
  const [name, setName] = useState("demo");
  const [storage, setStorage] = useState<"indexeddb" | "memory">("indexeddb");
  const [kind, setKind] = useState<InstanceKind>("high-performance");
  const [injected, setInjected] = useState(false);
  const [clock, setClock] = useState("2016-07-21 00:00:00+08:00");
  const [tried, setTried] = useState(false);
  const nameError = NAME.test(name) ? undefined : "3 to 16 letters, digits and -, first a letter, last no -.";
  const now = injected ? clockOf(clock) : undefined;
  const clockError = injected && now === undefined ? "A date and time, or milliseconds since 1970." : undefined;
  const submit = () => {
    setTried(true);
    if (nameError !== undefined || clockError !== undefined) return;
    mayCreate(name, kind);
    navigate({ instance: name, storage: storage === "memory" ? "memory" : undefined, clock: now });
  };
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextField
        label="Name"
        name="instance"
        value={name}
        onInput={setName}
        error={tried ? nameError : undefined}
        hint="3 to 16 letters, digits and -. An instance of that name is opened if there is one."
      />
      <div class="columns">
        <Field label="Storage" hint={storage === "memory" ? "Gone when closed." : "Kept by this browser."}>
          {(ties) => (
            <Select
              id={ties.id}
              value={storage}
              onChange={setStorage}
              options={[
                ["indexeddb", "IndexedDB"],
                ["memory", "Memory"],
              ]}
            />
          )}
        </Field>
        <Field label="Kind" hint={kind === "capacity" ? "Many writes, few reads, small." : "Fast reads and writes."}>
          {(ties) => <Select id={ties.id} value={kind} onChange={setKind} options={["high-performance", "capacity"]} />}
        </Field>
      </div>
      <Check checked={injected} onChange={setInjected}>
        Use a clock of my own, to travel in time
      </Check>
      {injected && (
        <TextField
          label="The clock begins at"
          value={clock}
          onInput={setClock}
          error={clockError}
          hint={now === undefined ? undefined : `${instant(now)} UTC, ${now} ms. It stands still until you move it.`}
        />
      )}
      <div>
        <button type="submit" class="button primary">
          Open
        </button>
      </div>
    </form>
  );
}
