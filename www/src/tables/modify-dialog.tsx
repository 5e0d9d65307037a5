/** Modifies a table: the four attributes and the reserved throughput, of which only what changed is sent [T5], [W1]. */

import { useState } from "preact/hooks";
import type { TableDescription } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { instant } from "../lib/format.ts";
import { changedOptions, optionErrors, optionTexts } from "../lib/table-options.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";
import { refreshTables, rowsChanged } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { SameAs } from "../ui/same-as.tsx";
import { OptionsFields } from "./options-fields.tsx";
import { throughputError, ThroughputFields } from "./throughput-fields.tsx";

/** The least time between two changes of the reserved throughput [T6]. */
const PAUSE_MS = 120_000;

/** Throws a refusal again; one that came too early says when it is not any more. */
async function explain(error: unknown, tableName: string): Promise<never> {
  if (asError(error).code !== "OTSTooFrequentReservedThroughputAdjustment") throw error;
  const { lastIncreaseTime, lastDecreaseTime } = (await database().describeTable(tableName)).reservedThroughput;
  const again = Math.max(lastIncreaseTime ?? 0, lastDecreaseTime ?? 0) + PAUSE_MS;
  throw new Error(`${asError(error).message} Nothing was changed. It can be changed again from ${instant(again).slice(11, 19)} UTC on.`);
}

/** The dialog. */
export function ModifyDialog({ table: shown, onClose }: { readonly table: TableDescription; readonly onClose: () => void }) {
  // What another tab changes meanwhile is no change of this dialog's.
  const [table] = useState(shown);
  const [before] = useState(() => optionTexts(table));
  const [options, setOptions] = useState(before);
  const [throughput, setThroughput] = useState({ read: String(table.reservedThroughput.read), write: String(table.reservedThroughput.write) });
  const action = useAction();
  const valid =
    Object.keys(optionErrors(options)).length === 0 && throughputError(throughput.read) === undefined && throughputError(throughput.write) === undefined;
  const wanted = { read: Number(throughput.read), write: Number(throughput.write) };
  const moved = wanted.read !== table.reservedThroughput.read || wanted.write !== table.reservedThroughput.write;
  const changes = valid ? { ...changedOptions(table, options), ...(moved ? { reservedThroughput: wanted } : {}) } : {};
  const nothing = Object.keys(changes).length === 0;
  const submit = () =>
    action.run(async () => {
      if (nothing) return;
      await logged("UpdateTable", table.tableName, () => database().updateTable({ tableName: table.tableName, ...changes })).catch((error) =>
        explain(error, table.tableName),
      );
      await refreshTables();
      rowsChanged.value += 1;
      onClose();
    });
  return (
    <Dialog
      title={`Modify ${table.tableName}`}
      size="wide"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} disabled={nothing} busy={action.busy}>
          Save changes
        </Answers>
      }
    >
      <div class="stack">
        <OptionsFields value={options} onChange={setOptions} before={before} />
        <ThroughputFields value={throughput} onChange={setThroughput} hint="Can be changed once in 2 minutes." />
        <ErrorNote error={action.error} />
        <SameAs request={nothing ? undefined : { operation: "updateTable", request: { tableName: table.tableName, ...changes } }} table={table} />
      </div>
    </Dialog>
  );
}
