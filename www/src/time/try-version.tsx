/** A version that a person gives: the store takes it, or refuses it with its reason. */

import { useState } from "preact/hooks";

import { instant } from "../lib/format.ts";
import { windowOf } from "../lib/lanes.ts";
import { parseInstant } from "../lib/values.ts";
import { useAction } from "../ui/action.ts";
import { Select, TextField } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { type CopiedRow, type Moved, type Sandbox, tryVersion } from "./sandbox.ts";

/** The props of the form. */
interface TryVersionProps {
  readonly sandbox: Sandbox;
  readonly row: CopiedRow;
  readonly moved: Moved;
  readonly columns: readonly string[];
  /** Called when a version was stored. */
  readonly onStored: () => Promise<void>;
}

/** The form. */
export function TryVersion({ sandbox, row, moved, columns, onStored }: TryVersionProps) {
  const [column, setColumn] = useState("");
  const [typed, setTyped] = useState("");
  const [told, setTold] = useState("");
  const action = useAction();
  const { from, to } = windowOf(moved.clock, moved);
  const chosen = columns.includes(column) ? column : (columns[0] ?? "");
  const submit = () =>
    action.run(async () => {
      setTold("");
      const version = parseInstant(typed);
      try {
        await tryVersion(sandbox, row, chosen, version);
      } catch (error) {
        setTold(`Refused: ${instant(version)} UTC.`);
        throw error;
      }
      setTold(`Taken: ${instant(version)} UTC.`);
      await onStored();
    });
  return (
    <form
      class="stack tight"
      aria-label="Try a version"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <p>
        A version may be given from <b>{instant(from)}</b> to before <b>{instant(to)}</b> UTC: the thin band.
      </p>
      <div class="row">
        <Select label="Column of the version" value={chosen} options={columns} onChange={setColumn} />
        <TextField label="Version (UTC)" name="triedVersion" value={typed} placeholder={instant(moved.clock)} passing onInput={setTyped} />
        <button type="submit" class="button" aria-disabled={action.busy}>
          Put a value there
        </button>
        <span role="status">{told}</span>
      </div>
      <ErrorNote error={action.error} />
    </form>
  );
}
