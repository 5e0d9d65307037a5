/** The four attributes of a table, as fields: the same when it is created and when it is modified [T4], [W1]. */

import { period } from "../lib/format.ts";
import { type OptionTexts, optionErrors, wholeNumber } from "../lib/table-options.ts";
import { Check, TextField } from "../ui/field.tsx";

/** The props of the fields. */
interface OptionsFieldsProps {
  readonly value: OptionTexts;
  readonly onChange: (value: OptionTexts) => void;
  /** The options that the table has now: changes that hide data are pointed out. */
  readonly before?: OptionTexts | undefined;
}

/** The effect of a change on data that is stored already. */
function consequence(before: OptionTexts | undefined, now: OptionTexts): string | undefined {
  if (before === undefined) return undefined;
  const versions = Number(now.maxVersions) < Number(before.maxVersions);
  const life = (texts: OptionTexts) => (texts.forever ? Number.POSITIVE_INFINITY : Number(texts.timeToLive));
  const shorter = life(now) < life(before);
  if (!versions && !shorter) return undefined;
  const what = versions && shorter ? "Older versions and expired data are" : versions ? "Older versions are" : "Expired data is";
  return `${what} invisible at once, and gone for good after a compaction.`;
}

function seconds(typed: string): string | undefined {
  const value = wholeNumber(typed, 1);
  return value === undefined ? undefined : period(value);
}

/** The fields. */
export function OptionsFields({ value, onChange, before }: OptionsFieldsProps) {
  const errors = optionErrors(value);
  const set = (change: Partial<OptionTexts>) => onChange({ ...value, ...change });
  const warning = Object.keys(errors).length === 0 ? consequence(before, value) : undefined;
  return (
    <fieldset class="stack">
      <legend>Data lifecycle</legend>
      <div class="columns">
        <div class="stack tight">
          <TextField
            label="Time to live (seconds)"
            name="timeToLive"
            numeric
            value={value.forever ? "" : value.timeToLive}
            placeholder={value.forever ? "-1, never expires" : "86400"}
            disabled={value.forever}
            onInput={(timeToLive) => set({ timeToLive })}
            error={errors.timeToLive}
            hint={value.forever ? "Data never expires." : seconds(value.timeToLive)}
          />
          <Check checked={value.forever} onChange={(forever) => set({ forever, timeToLive: forever ? value.timeToLive : value.timeToLive || "86400" })}>
            Never expires (-1)
          </Check>
        </div>
        <TextField
          label="Max versions"
          name="maxVersions"
          numeric
          value={value.maxVersions}
          onInput={(maxVersions) => set({ maxVersions })}
          error={errors.maxVersions}
          hint={Number(value.maxVersions) > 500 ? "More than 500 is not advised." : "Versions kept of each column."}
        />
      </div>
      <div class="columns">
        <TextField
          label="Max version offset (seconds)"
          name="maxVersionOffset"
          numeric
          value={value.maxVersionOffset}
          onInput={(maxVersionOffset) => set({ maxVersionOffset })}
          error={errors.maxVersionOffset}
          hint={`How far a given version may lie from the clock${seconds(value.maxVersionOffset) === undefined ? "." : `: ${seconds(value.maxVersionOffset)}.`}`}
        />
        <div class="field">
          <span class="label">Allow update</span>
          <Check checked={value.allowUpdate} onChange={(allowUpdate) => set({ allowUpdate })}>
            UpdateRow works on this table
          </Check>
          <p class="hint">{value.allowUpdate ? "Columns of a row can be changed one by one." : "Only PutRow and DeleteRow work."}</p>
        </div>
      </div>
      {warning !== undefined && (
        <p class="hint caution-text" role="status">
          {warning}
        </p>
      )}
    </fieldset>
  );
}
