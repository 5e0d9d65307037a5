/** The plan for a file: the table's name, its key, and for each column its name and type, with the first rows to look at. */

import type { ImportPreview } from "tabstore";

import { counted } from "../lib/format.ts";
import { KEY_TYPES, VALUE_TYPES } from "../lib/values.ts";
import { useColumns } from "../ui/column-pager.tsx";
import { Check, Field, Select, TextField } from "../ui/field.tsx";
import { type ColumnPlan, duplicatesOf, type ImportPlan, keyType, planKey, toggleKey } from "./plan.ts";

/** The props of the form. */
interface PlanFormProps {
  readonly preview: ImportPreview;
  readonly plan: ImportPlan;
  /** Whether there is a table of that name. */
  readonly existing: boolean;
  readonly errors: readonly string[];
  readonly onChange: (plan: ImportPlan) => void;
}

/** Rows shown of those that were looked at. */
const SHOWN = 6;
/** The controls of a column take as long to draw as so many cells of a grid. */
const CELLS_A_COLUMN = 50;

function sample(value: unknown): string {
  if (value === undefined || value === null || value === "") return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function ColumnHead({
  column,
  facts,
  onChange,
  onKey,
}: {
  readonly column: ColumnPlan;
  readonly facts: string;
  readonly onChange: (change: Partial<ColumnPlan>) => void;
  readonly onKey: () => void;
}) {
  const { source, taken, name, type, key } = column;
  return (
    <th scope="col" class={`plan-column ${taken ? "" : "left-out"} ${key > 0 ? "key" : ""}`}>
      <div class="plan-head">
        <Check checked={taken} disabled={key > 0} onChange={(now) => onChange({ taken: now })}>
          {source}
        </Check>
        <input
          type="text"
          aria-label={`Name of ${source} in the table`}
          value={name}
          disabled={!taken}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
        {key > 0 ? (
          <Select label={`Type of ${source}`} value={keyType(type)} options={KEY_TYPES} onChange={(wanted) => onChange({ type: wanted })} />
        ) : (
          <Select label={`Type of ${source}`} value={type} disabled={!taken} options={VALUE_TYPES} onChange={(wanted) => onChange({ type: wanted })} />
        )}
        <button
          type="button"
          class={`button small ${key > 0 ? "pressed" : ""}`}
          aria-pressed={key > 0}
          aria-label={key > 0 ? `Key ${key}: ${source}` : `Key: add ${source}`}
          onClick={onKey}
        >
          {key > 0 ? `Key ${key}` : "Key"}
        </button>
        <span class="type">{facts}</span>
      </div>
    </th>
  );
}

/** The form. */
export function PlanForm({ preview, plan, existing, errors, onChange }: PlanFormProps) {
  const set = (change: Partial<ImportPlan>) => onChange({ ...plan, ...change });
  const setColumn = (source: string, change: Partial<ColumnPlan>) =>
    set({ columns: plan.columns.map((column) => (column.source === source ? { ...column, ...change } : column)) });
  const key = planKey(plan);
  const { names, pager } = useColumns(
    plan.columns.map(({ source }) => source),
    CELLS_A_COLUMN,
  );
  const shown = plan.columns.filter(({ source }) => names.includes(source));
  const facts = new Map(preview.columns.map(({ source, complete, unique }) => [source, unique ? "unique" : complete ? "repeats" : "has gaps"]));
  return (
    <div class="stack">
      <div class="columns four">
        <TextField
          label="Table"
          name="tableName"
          value={plan.tableName}
          onInput={(tableName) => set({ tableName })}
          hint={existing ? "There is such a table: the rows are added to it." : "A new table."}
        />
        {!existing && (
          <TextField
            label="Versions kept"
            name="maxVersions"
            numeric
            value={plan.maxVersions}
            onInput={(maxVersions) => set({ maxVersions })}
            hint="Of each column. More than one keeps a history; an index needs one."
          />
        )}
        <div class="field">
          <span class="label">Row numbers</span>
          <Check checked={plan.numbered} onChange={(numbered) => set({ numbered })}>
            A key column with the row's number
          </Check>
          {plan.numbered && (
            <input
              type="text"
              name="numberColumn"
              aria-label="Name of the row number's column"
              value={plan.numberColumn}
              autocomplete="off"
              onInput={(event) => set({ numberColumn: event.currentTarget.value })}
            />
          )}
        </div>
        <Field label="Rows that cannot be stored">
          {(ties) => (
            <Select
              id={ties.id}
              value={plan.onError}
              onChange={(onError) => set({ onError })}
              options={[
                ["stop", "Stop there"],
                ["skip", "Leave them out and go on"],
              ]}
            />
          )}
        </Field>
        <Field label="Rows whose key is there">
          {(ties) => (
            <Select
              id={ties.id}
              value={duplicatesOf(plan, existing)}
              onChange={(onDuplicate) => set({ onDuplicate })}
              options={[
                ["stop", "Stop there"],
                ["skip", "Keep the first, go on"],
                ["replace", "Replace the earlier row"],
              ]}
            />
          )}
        </Field>
      </div>
      <p class="key-line">
        Key:{" "}
        {key.length === 0 ? (
          <span class="wrong">none yet</span>
        ) : (
          key.map(({ name, type }, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <span class="tag key">{name}</span> {type}
            </span>
          ))
        )}
      </p>
      {pager}
      <div class="grid-scroll">
        <table class="grid plan">
          <caption class="visually-hidden">Columns of the file, with its first rows</caption>
          <thead>
            <tr>
              {shown.map((column) => (
                <ColumnHead
                  key={column.source}
                  column={column}
                  facts={facts.get(column.source) ?? ""}
                  onChange={(change) => setColumn(column.source, change)}
                  onKey={() => onChange(toggleKey(plan, column.source))}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {preview.rows.slice(0, SHOWN).map((row, at) => (
              <tr key={at}>
                {shown.map(({ source, taken }) => (
                  <td key={source} class={taken ? "" : "left-out"} title={sample(row[source])}>
                    {sample(row[source]).slice(0, 60)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">
        Types and uniqueness are judged by {preview.whole ? "all" : "the first"} {counted(preview.rows.length, "row")}. An empty field makes no column in its
        row.
      </p>
      {errors.length > 0 && (
        <div class="error-note" role="alert">
          <ul>
            {errors.map((error) => (
              <li key={error}>{error}</li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
