/** The schema of a table: its key, its defined columns, its indexes, its stream. What can be changed is changed here. */

import { useEffect, useState } from "preact/hooks";
import type { DefinedColumn, IndexDescription, TableDescription } from "tabstore";

import { count, timeToLive } from "../lib/format.ts";
import { definedTrouble, NO_STREAM, streamError, type StreamText, toStream } from "../lib/table-schema.ts";
import { logged } from "../state/calls.ts";
import { showTable } from "../state/route.ts";
import { database } from "../state/session.ts";
import { refreshTables } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { AskFirst } from "../ui/ask-first.tsx";
import { Heading, Headings, HiddenHeading } from "../ui/headings.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { DefinedEditor } from "./defined-editor.tsx";
import { IndexDialog } from "./index-dialog.tsx";
import { StreamFields } from "./stream-fields.tsx";

/** The props of the parts. */
interface PartProps {
  readonly table: TableDescription;
}

function Key({ table: { primaryKey } }: PartProps) {
  return (
    <section class="schema-part">
      <h2>Primary key</h2>
      <div class="grid-scroll">
        <table class="grid">
          <Headings titles={["Column", "Type"]}>
            <Heading>Note</Heading>
          </Headings>
          <tbody>
            {primaryKey.map(({ name, type, autoIncrement }, at) => (
              <tr key={name}>
                <th scope="row" class="key">
                  {name}
                </th>
                <td>{type}</td>
                <td>{[...(at === 0 ? ["partition key"] : []), ...(autoIncrement ? ["assigned by the store"] : [])].join(", ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The indexes that a defined column is in. */
const usersOf = (name: string, indexes: readonly IndexDescription[]) =>
  indexes.filter(({ primaryKey, columns }) => primaryKey.includes(name) || columns.includes(name)).map(({ indexName }) => indexName);

function Defined({ table }: PartProps) {
  const { tableName, definedColumns, indexes } = table;
  const [added, setAdded] = useState<readonly DefinedColumn[]>([]);
  const action = useAction();
  const trouble = definedTrouble(table.primaryKey, [...definedColumns, ...added]);
  const remove = (name: string) =>
    action.run(async () => {
      await logged("DeleteDefinedColumn", `${tableName}, ${name}`, () => database().deleteDefinedColumn({ tableName, columns: [name] }));
      await refreshTables();
    });
  const add = () =>
    action.run(async () => {
      if (trouble !== undefined) throw new Error(trouble);
      await logged("AddDefinedColumn", tableName, () => database().addDefinedColumn({ tableName, columns: added }));
      setAdded([]);
      await refreshTables();
    });
  return (
    <section class="schema-part" aria-label="Defined columns">
      <h2>Defined columns</h2>
      {definedColumns.length === 0 && <p class="hint">None. An index needs those that it is sorted by, or that it holds.</p>}
      {definedColumns.length > 0 && (
        <div class="grid-scroll">
          <table class="grid">
            <Headings titles={["Column", "Type", "In the indexes"]}>
              <HiddenHeading>Actions</HiddenHeading>
            </Headings>
            <tbody>
              {definedColumns.map(({ name, type }) => {
                const users = usersOf(name, indexes);
                return (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>{type}</td>
                    <td>{users.join(", ")}</td>
                    <td class="right">
                      {users.length > 0 ? (
                        <span class="hint">in use</span>
                      ) : (
                        <button
                          type="button"
                          class="button small quiet"
                          aria-label={`Take ${name} out of the definition`}
                          title="Its values stay"
                          onClick={() => remove(name)}
                        >
                          <Icon name="remove" />
                        </button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <form
        class="stack tight"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <DefinedEditor value={added} onChange={setAdded} legend="Define more columns" titled />
        {added.length > 0 && (
          <>
            <button type="submit" class="button small primary fit" aria-disabled={action.busy}>
              Define them
            </button>
            <SameAs request={trouble === undefined ? { operation: "addDefinedColumn", request: { tableName, columns: added } } : undefined} table={table} />
          </>
        )}
        <ErrorNote error={action.error} />
      </form>
    </section>
  );
}

function IndexRow({ table, index }: PartProps & { readonly index: IndexDescription }) {
  const { tableName } = table;
  const { indexName, type, primaryKey, columns, phase, builtRows, failure } = index;
  const action = useAction();
  const drop = () =>
    action.run(async () => {
      await logged("DropIndex", indexName, () => database().dropIndex({ tableName, indexName }));
      await refreshTables();
    });
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => showTable(indexName)}>
          {indexName}
        </button>
      </th>
      <td>{type}</td>
      <td>{primaryKey.join(", ")}</td>
      <td>{columns.join(", ")}</td>
      <td>
        {phase === "INCR" ? "complete" : `being built: ${count(builtRows)} rows so far`}, {timeToLive(index.timeToLive)}
        {failure !== null && <ErrorNote error={failure} />}
      </td>
      <td class="right">
        <AskFirst icon="remove" label={`Drop ${indexName}`} yes="Drop it: the rows of the table stay" busy={action.busy} onYes={drop} />
        <SameAs lead="To drop it is the same as" request={{ operation: "dropIndex", request: { tableName, indexName } }} table={table} />
        <ErrorNote error={action.error} />
      </td>
    </tr>
  );
}

function Indexes({ table }: PartProps) {
  const [creating, setCreating] = useState(false);
  const { indexes } = table;
  const isBuilding = indexes.some(({ phase }) => phase === "FULL");
  useEffect(() => {
    if (!isBuilding) return;
    const timer = setInterval(() => void refreshTables(), 500);
    return () => clearInterval(timer);
  }, [isBuilding]);
  return (
    <section class="schema-part" aria-label="Indexes">
      <h2>Indexes</h2>
      {indexes.length === 0 ? (
        <p class="hint">None. An index holds the rows in another order; the store updates it in the same step as the rows.</p>
      ) : (
        <div class="grid-scroll">
          <table class="grid">
            <Headings titles={["Index", "Kind", "Key", "Other columns", "State"]}>
              <HiddenHeading>Actions</HiddenHeading>
            </Headings>
            <tbody>
              {indexes.map((index) => (
                <IndexRow key={index.indexName} table={table} index={index} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <button type="button" class="button small fit" onClick={() => setCreating(true)}>
        <Icon name="add" /> Create index
      </button>
      {creating && <IndexDialog table={table} onClose={() => setCreating(false)} />}
    </section>
  );
}

/** The form's contents for the stream that a table has. */
function streamText({ stream }: TableDescription): StreamText {
  return stream === null ? NO_STREAM : { enabled: true, hours: String(stream.expirationHours), originColumns: stream.originColumns.join(", ") };
}

function Stream({ table }: PartProps) {
  const { tableName } = table;
  const [value, setValue] = useState(() => streamText(table));
  const said = JSON.stringify(streamText(table));
  useEffect(() => setValue(streamText(table)), [said]);
  const action = useAction();
  const moved = JSON.stringify(value) !== said && streamError(value) === undefined;
  const request = { tableName, stream: toStream(value) };
  const save = () =>
    action.run(async () => {
      if (!moved) return;
      await logged("UpdateTable", tableName, () => database().updateTable(request));
      await refreshTables();
    });
  return (
    <form
      class="schema-part"
      aria-label="Stream"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <h2>Stream</h2>
      <StreamFields value={value} onChange={setValue} titled />
      {table.stream !== null && !value.enabled && <p class="hint caution-text">The records that there are are deleted with the stream.</p>}
      {moved && (
        <button type="submit" class="button small primary fit" aria-disabled={action.busy}>
          Save the stream
        </button>
      )}
      <ErrorNote error={action.error} />
      {moved && <SameAs request={{ operation: "updateTable", request }} table={table} />}
    </form>
  );
}

/** The view. An index shows only its key: the rest is its table's. */
export function SchemaView({ table }: PartProps) {
  if (table.indexOf !== null) return <Key table={table} />;
  return (
    <div class="stack">
      <Key table={table} />
      <Defined table={table} />
      <Indexes table={table} />
      <Stream table={table} />
      {table.enableLocalTransaction === false && <p class="hint">The table does not allow local transactions.</p>}
    </div>
  );
}
