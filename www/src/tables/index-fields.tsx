/** The fields of an index: the same when its table is created and when it is added later. */

import { type IndexedTable, type IndexText, keyCandidates, MOST_INDEX_KEYS } from "../lib/table-schema.ts";
import { Check, Field, Select, TextField } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";

/** The props of the fields. */
interface IndexFieldsProps {
  readonly table: IndexedTable;
  readonly value: IndexText;
  readonly onChange: (value: IndexText) => void;
  readonly focused?: boolean | undefined;
}

function IndexKey({ table, value, onChange }: IndexFieldsProps) {
  const candidates = keyCandidates(table.primaryKey, table.definedColumns);
  const { primaryKey } = value;
  const set = (next: readonly string[]) => onChange({ ...value, primaryKey: next });
  return (
    <fieldset class="stack tight">
      <legend>Key of the index</legend>
      <ol class="key-editor">
        {primaryKey.map((name, at) => (
          <li key={at}>
            <span class="place" aria-hidden="true">
              {at + 1}
            </span>
            <Select
              label={`Key column ${at + 1} of the index`}
              value={name}
              options={[["", "choose"], ...candidates.map((one) => [one, one] as const)]}
              onChange={(chosen) => set(primaryKey.map((before, place) => (place === at ? chosen : before)))}
            />
            <button
              type="button"
              class="button quiet square"
              aria-label={`Remove key column ${at + 1} of the index`}
              disabled={primaryKey.length === 1}
              onClick={() => set(primaryKey.filter((_, place) => place !== at))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ol>
      <div class="row">
        <button type="button" class="button small" disabled={primaryKey.length === MOST_INDEX_KEYS} onClick={() => set([...primaryKey, ""])}>
          <Icon name="add" /> Column of the index's key
        </button>
        <span class="hint">The other columns of the table's key follow by themselves. A row is in the index if it has all of them.</span>
      </div>
    </fieldset>
  );
}

/** The fields. */
export function IndexFields(props: IndexFieldsProps) {
  const { table, value, onChange, focused } = props;
  const others = table.definedColumns.filter(({ name }) => name !== "" && !value.primaryKey.includes(name));
  return (
    <div class="stack tight">
      <div class="columns">
        <TextField
          label="Index name"
          name="indexName"
          value={value.indexName}
          focused={focused}
          onInput={(indexName) => onChange({ ...value, indexName })}
          hint="It is read like a table of this name."
        />
        <Field label="Kind" hint={value.type === "LOCAL" ? "Its key begins with the table's partition key." : "Any key."}>
          {(ties) => <Select id={ties.id} value={value.type} options={["GLOBAL", "LOCAL"] as const} onChange={(type) => onChange({ ...value, type })} />}
        </Field>
      </div>
      <IndexKey {...props} />
      {others.length > 0 && (
        <fieldset class="row">
          <legend>Other columns that it holds</legend>
          {others.map(({ name }) => (
            <Check
              key={name}
              checked={value.columns.includes(name)}
              onChange={(on) => onChange({ ...value, columns: on ? [...value.columns, name] : value.columns.filter((one) => one !== name) })}
            >
              {name}
            </Check>
          ))}
        </fieldset>
      )}
    </div>
  );
}
