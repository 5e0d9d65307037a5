/** The stream of a table, as fields: the same when it is created and later [ST1]. */

import { type StreamText, streamError } from "../lib/table-schema.ts";
import { Check, TextField } from "../ui/field.tsx";

/** The props of the fields. */
interface StreamFieldsProps {
  readonly value: StreamText;
  readonly onChange: (value: StreamText) => void;
  /** Whether a title above it says what it is. */
  readonly titled?: boolean;
}

/** The fields. */
export function StreamFields({ value, onChange, titled = false }: StreamFieldsProps) {
  return (
    <fieldset class="stack tight">
      <legend class={titled ? "visually-hidden" : undefined}>Stream</legend>
      <Check checked={value.enabled} onChange={(enabled) => onChange({ ...value, enabled })}>
        Record the changes of its rows
      </Check>
      {value.enabled && (
        <div class="columns">
          <TextField
            label="Hours that records are kept"
            name="streamHours"
            numeric
            value={value.hours}
            error={streamError(value)}
            onInput={(hours) => onChange({ ...value, hours })}
          />
          <TextField
            label="Columns with their values before a change"
            name="originColumns"
            value={value.originColumns}
            placeholder="none"
            hint="Names with commas between them. Each write then reads its row."
            onInput={(originColumns) => onChange({ ...value, originColumns })}
          />
        </div>
      )}
    </fieldset>
  );
}
