/** Inserts an entity. */

import { useState } from "preact/hooks";

import { wrongNames } from "../lib/entities.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { insert, type Key, type Place } from "./client.ts";
import { type Draft, draft, propertiesOf, PropertyEditor } from "./property-editor.tsx";

/** The props of the panel. */
interface InsertPanelProps {
  readonly place: Place;
  readonly onClose: () => void;
  readonly onDone: (key: Key) => void;
}

/** The panel. */
export function InsertPanel({ place, onClose, onDone }: InsertPanelProps) {
  const [partitionKey, setPartitionKey] = useState("");
  const [rowKey, setRowKey] = useState("");
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => [draft()]);
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      const properties = propertiesOf(drafts);
      const wrong = wrongNames(properties);
      if (wrong !== undefined) throw new Error(wrong);
      await insert(place, { partitionKey, rowKey }, properties);
      onDone({ partitionKey, rowKey });
    });
  return (
    <Dialog
      title={`Insert an entity into ${place.table}`}
      size="side"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} busy={action.busy}>
          Insert entity
        </Answers>
      }
    >
      <div class="stack">
        <fieldset class="columns">
          <legend>Key</legend>
          <TextField
            label={
              <>
                PartitionKey <span class="type">String</span>
              </>
            }
            name="partitionKey"
            value={partitionKey}
            onInput={setPartitionKey}
            focused
          />
          <TextField
            label={
              <>
                RowKey <span class="type">String</span>
              </>
            }
            name="rowKey"
            value={rowKey}
            onInput={setRowKey}
          />
        </fieldset>
        <PropertyEditor value={drafts} onChange={setDrafts} />
        <ErrorNote error={action.error} />
      </div>
    </Dialog>
  );
}
