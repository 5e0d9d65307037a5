/** Asks for a row, and shows the path of the read. */

import { useState } from "preact/hooks";
import type { KeyValue, ReadTrace, TreeDescription } from "tabstore";

import { bytes, counted } from "../lib/format.ts";
import { stepText } from "../lib/inside.ts";
import { parseKey } from "../lib/values.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { findTable } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { ErrorNote } from "../ui/notice.tsx";

/** The form, and the steps of the last read. */
export function AskKey({
  tree,
  trace,
  onTrace,
}: {
  readonly tree: TreeDescription;
  readonly trace: ReadTrace | undefined;
  readonly onTrace: (trace: ReadTrace | undefined) => void;
}) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [found, setFound] = useState<string>();
  const action = useAction();
  const table = findTable(tree.tableName ?? "");
  if (table === undefined) return null;
  const ask = (): void =>
    action.run(async () => {
      const primaryKey: Record<string, KeyValue> = {};
      for (const { name, type } of table.primaryKey) primaryKey[name] = parseKey(type, typed[name] ?? "");
      const { tableName } = table;
      const read = await logged("GetRow", tableName, () => database().getRow({ tableName, primaryKey, trace: true }));
      onTrace(read.trace);
      const cost = `${counted(read.consumed.read, "read unit")}, ${bytes(read.trace?.fetchedBytes ?? 0)} from the storage`;
      setFound(`${read.row === null ? "There is no such row" : "The row is there"}: ${counted(read.trace?.fragments ?? 0, "piece")}, ${cost}.`);
    });
  return (
    <section class="ask-key" aria-labelledby="ask-title">
      <h2 id="ask-title">Ask it a key</h2>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        {table.primaryKey.map(({ name, type }) => (
          <input
            key={name}
            type="text"
            name={`ask-${name}`}
            aria-label={`Key to ask, ${name}`}
            placeholder={`${name} (${type})`}
            value={typed[name] ?? ""}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
          />
        ))}
        <button type="submit" class="button" aria-disabled={action.busy}>
          Ask
        </button>
      </form>
      <ErrorNote error={action.error} />
      <p role="status">{trace === undefined ? "" : found}</p>
      {trace !== undefined && (
        <ol class="trace">
          {trace.steps.map((step, at) => (
            <li key={at}>{stepText(step)}</li>
          ))}
        </ol>
      )}
    </section>
  );
}
