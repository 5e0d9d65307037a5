/** The page without an open instance: those that there are, a form for another, and the lessons. */

import { useEffect, useState } from "preact/hooks";
import { deleteInstance, type InstanceDescription, listInstances } from "tabstore";

import { ExampleCards } from "../examples/examples.tsx";
import { EXAMPLES } from "../examples/registry.tsx";
import { instant } from "../lib/format.ts";
import { LessonCards } from "../lessons/lesson-cards.tsx";
import { asError, logged } from "../state/calls.ts";
import { onLook } from "../state/look.ts";
import { navigate } from "../state/route.ts";
import { session } from "../state/session.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { OpenForm } from "./open-form.tsx";

function DeleteInstance({ name, onDone, onClose }: { readonly name: string; readonly onDone: () => void; readonly onClose: () => void }) {
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      await logged("DeleteInstance", name, () => deleteInstance(name));
      onDone();
    });
  return (
    <Dialog
      title={`Delete ${name}?`}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <Answers onClose={onClose} danger busy={action.busy}>
          Delete instance
        </Answers>
      }
    >
      <p>The instance and every table in it are removed from this browser. This cannot be undone.</p>
      <ErrorNote error={action.error} />
    </Dialog>
  );
}

function InstanceList() {
  const [instances, setInstances] = useState<readonly InstanceDescription[]>();
  const [error, setError] = useState<unknown>();
  const [doomed, setDoomed] = useState<string>();
  const read = () => void listInstances().then(setInstances, setError);
  useEffect(() => {
    read();
    return onLook(read);
  }, []);
  if (error !== undefined) {
    const { code } = asError(error);
    return code === "Unavailable" ? (
      <p class="empty">This browser does not let the page keep data, so there are no stored instances. Instances in memory work.</p>
    ) : (
      <ErrorNote error={error} />
    );
  }
  if (instances === undefined) return <p class="empty">Looking …</p>;
  if (instances.length === 0) return <p class="empty">None yet. Create the first one on this page, or start with a lesson.</p>;
  return (
    <>
      <ul class="instances">
        {instances.map(({ name, kind, creationTime }) => (
          <li key={name}>
            <button type="button" class="instance-open" onClick={() => navigate({ instance: name })}>
              <b>{name}</b>
              <span class="faint">
                {kind}, since {instant(creationTime).slice(0, 16)} UTC
              </span>
            </button>
            <button type="button" class="button quiet square" aria-label={`Delete ${name}`} title="Delete" onClick={() => setDoomed(name)}>
              <Icon name="remove" />
            </button>
          </li>
        ))}
      </ul>
      {doomed !== undefined && (
        <DeleteInstance
          name={doomed}
          onClose={() => setDoomed(undefined)}
          onDone={() => {
            setDoomed(undefined);
            read();
          }}
        />
      )}
    </>
  );
}

/** The page. While an instance is being opened it stands back. */
export function Welcome() {
  const { state } = session.value;
  if (state === "opening") return <main id="main" tabIndex={-1} />;
  return (
    <main id="main" class="welcome" tabIndex={-1} aria-labelledby="title">
      <div class="intro">
        <h1 id="title">A wide-column database in this tab</h1>
        <p>Tables, versions, time to live, ranges and capacity units, as in Table Store, kept by this browser. Nothing leaves this page.</p>
      </div>
      <section class="card" aria-labelledby="instances-title">
        <h2 id="instances-title">Instances</h2>
        <InstanceList />
      </section>
      <section class="card" aria-labelledby="open-title">
        <h2 id="open-title">Create or open</h2>
        <OpenForm />
      </section>
      <section class="card span" aria-labelledby="lessons-title">
        <h2 id="lessons-title">Lessons</h2>
        <LessonCards />
      </section>
      {EXAMPLES.length > 0 && (
        <section class="card span" aria-labelledby="examples-title">
          <h2 id="examples-title">Examples</h2>
          <ExampleCards />
        </section>
      )}
    </main>
  );
}
