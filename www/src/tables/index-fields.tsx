/** The fields of an index: the same when its table is created and when it is added later. */

import { type IndexedTable, type IndexText, keyCandidates, MOST_INDEX_KEYS } from "../lib/table-schema.ts";
import { Check, Field, Select, TextField } from "../ui/field.tsx";
import { ColumnList } from "./column-list.tsx";

/** The props of the fields. */
interface IndexFieldsProps {
  readonly table: IndexedTable;
  readonly value: IndexText;
  readonly onChange: (value: IndexText) => void;
  readonly focused?: boolean | undefined;
}

function IndexKey({ table, value, onChange }: IndexFieldsProps) {
  const candidates = keyCandidates(table.primaryKey, table.definedColumns);
  return (
    <ColumnList
      legend="Key of the index"
      value={value.primaryKey}
      onChange={(primaryKey) => onChange({ ...value, primaryKey })}
      about={(place) => `key column ${place} of the index`}
      line={(name, _about, set, at) => (
        <Select
          label={`Key column ${at + 1} of the index`}
          value={name}
          options={[["", "choose"], ...candidates.map((one) => [one, one] as const)]}
          onChange={set}
        />
      )}
      fresh=""
      adds="Column of the index's key"
      hint="Columns of the key, and defined ones. The other columns of the table's key follow by themselves. A row is in the index if it has all of them."
      least={1}
      most={MOST_INDEX_KEYS}
    />
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
