/** Reserved throughput, as fields. */

import { wholeNumber } from "../lib/table-options.ts";
import { TextField } from "../ui/field.tsx";

/** The typed texts. */
export interface ThroughputTexts {
  readonly read: string;
  readonly write: string;
}

/** The highest unless the quota was raised [T6]. */
const MOST = 5000;

/** The error of a text, if there is one. */
export function throughputError(typed: string): string | undefined {
  const value = wholeNumber(typed, 0);
  return value === undefined || value > MOST ? `A whole number from 0 to ${MOST}.` : undefined;
}

/** The fields. */
export function ThroughputFields({
  value,
  onChange,
  hint,
}: {
  readonly value: ThroughputTexts;
  readonly onChange: (value: ThroughputTexts) => void;
  readonly hint: string;
}) {
  return (
    <fieldset class="stack">
      <legend>Reserved throughput</legend>
      <div class="columns">
        <TextField
          label="Read units a second"
          name="readUnits"
          numeric
          value={value.read}
          onInput={(read) => onChange({ ...value, read })}
          error={throughputError(value.read)}
        />
        <TextField
          label="Write units a second"
          name="writeUnits"
          numeric
          value={value.write}
          onInput={(write) => onChange({ ...value, write })}
          error={throughputError(value.write)}
        />
      </div>
      <p class="hint">{hint}</p>
    </fieldset>
  );
}
