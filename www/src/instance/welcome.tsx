/** The page without an open instance: an invitation to the show, the instances, a form for another, lessons and examples. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { deleteInstance, type InstanceDescription, listInstances } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { ExampleCards } from "../examples/examples.tsx";
import { EXAMPLES } from "../examples/registry.tsx";
import { FilePick } from "../importing/file-pick.tsx";
import { instant } from "../lib/format.ts";
import { formatRoute, TOUR } from "../lib/route.ts";
import { logged } from "../state/calls.ts";
import { language } from "../state/language.ts";
import { onLook } from "../state/look.ts";
import { navigate } from "../state/route.ts";
import { served } from "../state/served.ts";
import { session } from "../state/session.ts";
import { INVITATIONS } from "../texts/invitation.ts";
import { TAGS } from "../texts/language.ts";
import { useAction } from "../ui/action.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { LanguageSwitch } from "../ui/language-switch.tsx";
import { lazily } from "../ui/lazily.tsx";
import { ErrorNote } from "../ui/notice.tsx";
import { OpenForm } from "./open-form.tsx";

const ServedCard = lazily(async () => (await import("./served.tsx")).ServedCard);
const LessonCards = lazily(async () => (await import("../lessons/cards.tsx")).LessonCards);

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

/** The instances of this browser; neither list nor error: not known yet. */
interface KnownInstances {
  readonly instances?: readonly InstanceDescription[];
  readonly error?: unknown;
  readonly read: () => void;
}

/** The instances, as they are when the page comes, when a person comes back to it, and after each opening. */
function useInstances(state: string): KnownInstances {
  const [known, setKnown] = useState<Omit<KnownInstances, "read">>(served === undefined ? {} : { instances: [] });
  const read = () =>
    served === undefined &&
    void listInstances().then(
      (instances) => setKnown({ instances }),
      (error: unknown) => setKnown({ error }),
    );
  useEffect(() => {
    read();
    return onLook(read);
  }, [state]);
  return { ...known, read };
}

function InstanceList({ instances, error, read }: KnownInstances) {
  const [doomed, setDoomed] = useState<string>();
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

/** The invitation to the show. */
function Invitation({ children }: { readonly children?: ComponentChildren }) {
  const texts = INVITATIONS[language.value];
  return (
    <div class="invitation" lang={TAGS[language.value]}>
      <p class="invitation-line">{texts.line}</p>
      <div class="row">
        <a class="button primary" href={formatRoute({ step: 1 })}>
          {texts.watch}
        </a>
        {children}
        <LanguageSwitch />
      </div>
    </div>
  );
}

/** The first visit: no form, until somebody wants one. */
function FirstVisit({ onOwn }: { readonly onOwn: () => void }) {
  const texts = INVITATIONS[language.value];
  return (
    <div class="card span">
      <Invitation>
        <button type="button" class="button" onClick={onOwn}>
          {texts.own}
        </button>
        <FilePick class="button">
          <Icon name="upload" /> {texts.file}
        </FilePick>
      </Invitation>
    </div>
  );
}

/** Instances of one's own: those of the show come and go. */
const isOwn = ({ name }: InstanceDescription): boolean => name !== TOUR;

function Instances(known: KnownInstances) {
  return (
    <>
      <section class="card" aria-labelledby="instances-title">
        <h2 id="instances-title">Instances</h2>
        <InstanceList {...known} />
      </section>
      <section class="card" aria-labelledby="open-title">
        <h2 id="open-title">Create or open</h2>
        <OpenForm />
      </section>
    </>
  );
}

/** The page. While an instance is being opened it stands back, and when the server has gone, which has its parts. */
export function Welcome() {
  const { state } = session.value;
  const known = useInstances(state);
  const [wantsOwn, setWantsOwn] = useState(false);
  if (state === "opening") return <main id="main" tabIndex={-1} />;
  if (served !== undefined && state === "failed") {
    return (
      <main id="main" class="welcome" tabIndex={-1} aria-labelledby="title">
        <h1 id="title">{served}</h1>
      </main>
    );
  }
  const isKnown = known.instances !== undefined || known.error !== undefined;
  const isFirst = !wantsOwn && state === "none" && !known.instances?.some(isOwn);
  return (
    <main id="main" class="welcome" tabIndex={-1} aria-labelledby="title">
      <div class="intro">
        <h1 id="title">{served === undefined ? "A wide-column database in this tab" : "A wide-column database on this server"}</h1>
        <p>
          Tables, versions, time to live, ranges and capacity units, as in Table Store,{" "}
          {served === undefined ? "kept by this browser. Nothing leaves this page." : "kept by the server of this page."}
        </p>
      </div>
      {served !== undefined && <ServedCard />}
      {served === undefined && isKnown && (isFirst ? <FirstVisit onOwn={() => setWantsOwn(true)} /> : <Instances {...known} />)}
      {isKnown && (served !== undefined || !isFirst) && (
        <div class="card span">
          <Invitation />
        </div>
      )}
      {/* What stands above them comes first, so that nothing moves. */}
      {isKnown && (
        <section class="card span" aria-labelledby="lessons-title">
          <h2 id="lessons-title">Lessons</h2>
          <LessonCards />
        </section>
      )}
      {isKnown && EXAMPLES.length > 0 && (
        <section class="card span" aria-labelledby="examples-title">
          <h2 id="examples-title">Examples</h2>
          <ExampleCards />
        </section>
      )}
    </main>
  );
}
