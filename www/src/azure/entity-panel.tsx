/** One entity: its properties with their types, its version, and everything that can be done with it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { asError } from "../lib/ended-call.ts";
import { type Entity, leftOut, type Mode, sentBy, type Wish, wrongNames } from "../lib/entities.ts";
import { useAction } from "../ui/action.ts";
import { AskFirst } from "../ui/ask-first.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Select } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { changeElsewhere, type Key, keyText, type Place, readEntity, remove, update } from "./client.ts";
import { type Conflict, ConflictView } from "./conflict.tsx";
import { type Draft, draft, propertiesOf, PropertyEditor } from "./property-editor.tsx";

/** The props of the panel. */
interface EntityPanelProps {
  readonly place: Place;
  readonly entityKey: Key;
  readonly onClose: () => void;
  /** Called after each change that was stored. */
  readonly onChanged: () => void;
}

/** Names in a sentence. */
const list = (names: readonly string[]) => names.join(", ");

/** What a change will do. */
function consequence(mode: Mode, entity: Entity, drafts: readonly Draft[]): string {
  const edited = propertiesOf(drafts);
  const sent = sentBy(mode, entity.properties, edited).map(({ name }) => name);
  const left = leftOut(entity.properties, edited);
  if (mode === "Replace") return `Sends all properties.${left.length > 0 ? ` Removes ${list(left)}.` : ""}`;
  return (
    `${sent.length === 0 ? "Nothing was changed: only the Timestamp and the ETag get new values." : `Sends ${list(sent)}; the other properties stay.`}` +
    (left.length > 0 ? ` A merge does not remove ${list(left)}.` : "")
  );
}

/** The panel. */
export function EntityPanel({ place, entityKey, onClose, onChanged }: EntityPanelProps) {
  const [entity, setEntity] = useState<Entity>();
  const [drafts, setDrafts] = useState<readonly Draft[]>([]);
  const [mode, setMode] = useState<Mode>("Merge");
  const [conflict, setConflict] = useState<Conflict>();
  /** Whether the form is shown again with what was sent, behind a conflict. */
  const [isBack, setBack] = useState(false);
  const [told, setTold] = useState("");
  const action = useAction();
  const foot = useRef<HTMLDivElement>(null);
  // On a phone the answer to a button comes below the properties.
  useLayoutEffect(() => {
    if (told !== "" || action.error !== undefined) foot.current?.scrollIntoView({ block: "nearest" });
  }, [told, action.error]);
  const show = (read: Entity) => {
    setEntity(read);
    setDrafts(read.properties.map(draft));
    setConflict(undefined);
    setBack(false);
  };
  const read = async () => show(await readEntity(place, entityKey));
  useEffect(() => action.run(read), []);

  const send = (wish: Wish, etag: string) =>
    action.run(async () => {
      setTold("");
      try {
        if (wish.mode === "Delete") await remove(place, entityKey, etag);
        else await update(place, entityKey, wish.mode, wish.sent, etag);
      } catch (error) {
        if (asError(error).code !== "UpdateConditionNotSatisfied") throw error;
        setConflict({ error, wish, now: await readEntity(place, entityKey) });
        return;
      }
      onChanged();
      if (wish.mode === "Delete") {
        onClose();
        return;
      }
      await read();
      setTold("Stored. The entity has a new ETag.");
    });
  const save = () => {
    if (entity === undefined) return;
    const edited = propertiesOf(drafts);
    const sent = sentBy(mode, entity.properties, edited);
    const wrong = wrongNames(edited, sent);
    if (wrong !== undefined) action.fail(new Error(wrong));
    else send({ mode, sent }, entity.etag);
  };
  const elsewhere = () =>
    action.run(async () => {
      const { name, text } = await changeElsewhere(place, entityKey);
      onChanged();
      setTold(`Another client has set ${name} to ${text}. This panel still has what it read before: save, and see.`);
    });
  const reload = () =>
    action.run(async () => {
      await read();
      setTold("This is what is stored now.");
    });

  const title = `Entity ${keyText(entityKey)}`;
  if (conflict !== undefined && entity !== undefined) {
    const back = () => {
      setConflict(undefined);
      setBack(isBack || conflict.wish.mode !== "Delete");
    };
    return (
      <Dialog
        title={title}
        size="side"
        step="conflict"
        onClose={back}
        footer={
          <>
            <button type="button" class="button" onClick={back}>
              Go on editing
            </button>
            <span class="push" />
            <button type="button" class="button danger" aria-disabled={action.busy} onClick={() => send(conflict.wish, "*")}>
              {conflict.wish.mode === "Delete" ? "Delete with *" : "Overwrite with *"}
            </button>
            <button type="button" class="button primary" aria-disabled={action.busy} autofocus onClick={reload}>
              Reload
            </button>
          </>
        }
      >
        <ConflictView conflict={conflict} read={entity} />
        <ErrorNote error={action.error} />
      </Dialog>
    );
  }
  return (
    <Dialog
      title={title}
      size="side"
      step={entity === undefined ? "reading" : "read"}
      onClose={onClose}
      unstored={isBack}
      onSubmit={entity === undefined ? undefined : save}
      footer={
        <>
          {entity !== undefined && (
            <AskFirst icon="remove" label="Delete" yes="Delete it" busy={action.busy} onYes={() => send({ mode: "Delete" }, entity.etag)} />
          )}
          {entity !== undefined && (
            <button
              type="button"
              class="button"
              aria-disabled={action.busy}
              title="Another client changes this entity, and this panel does not know"
              onClick={elsewhere}
            >
              <Icon name="edit" /> Change it elsewhere
            </button>
          )}
          <span class="push" />
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          {entity !== undefined && (
            <button type="submit" class="button primary" aria-disabled={action.busy}>
              Save
            </button>
          )}
        </>
      }
    >
      <div class="stack">
        {entity === undefined && action.error === undefined && <p class="empty">Reading …</p>}
        {entity !== undefined && (
          <>
            <dl class="etags">
              <dt>
                <span class="tag key">PartitionKey</span>
              </dt>
              <dd>{entity.partitionKey === "" ? <span class="none">empty</span> : entity.partitionKey}</dd>
              <dt>
                <span class="tag key">RowKey</span>
              </dt>
              <dd>{entity.rowKey === "" ? <span class="none">empty</span> : entity.rowKey}</dd>
              <dt>Timestamp</dt>
              <dd>{entity.timestamp}</dd>
              <dt>ETag</dt>
              <dd>
                <code>{entity.etag}</code>
              </dd>
            </dl>
            <PropertyEditor value={drafts} onChange={setDrafts} focused />
            <Field label="Save by" hint={consequence(mode, entity, drafts)}>
              {({ id }) => (
                <Select
                  id={id}
                  value={mode}
                  onChange={setMode}
                  options={[
                    ["Merge", "Merge: keep what is not sent"],
                    ["Replace", "Replace: the entity is what is sent"],
                  ]}
                />
              )}
            </Field>
          </>
        )}
        <div ref={foot}>
          <p role="status" class={told === "" ? "visually-hidden" : "told"}>
            {told}
          </p>
          <ErrorNote error={action.error} />
        </div>
      </div>
    </Dialog>
  );
}
