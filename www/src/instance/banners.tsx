/** The plain truth about the instance: another tab keeps it to itself, this browser cannot keep it, it was lost, it is gone when closed, it failed, it has a problem. */

import { useEffect, useState } from "preact/hooks";
import { describeInstance, type TabStoreError } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { sentence } from "../lib/format.ts";
import { navigate, route } from "../state/route.ts";
import { served } from "../state/served.ts";
import { openInstance, session, type Wanted } from "../state/session.ts";
import { lazily } from "../ui/lazily.tsx";
import { Banner } from "../ui/notice.tsx";
import { BeginAnew } from "./begin-anew.tsx";
import { Troubles } from "./troubles.tsx";

/** It is loaded at the beginning: once the server has gone, nothing can be. */
const ofServer = served === undefined ? undefined : import("./served.tsx");
type Shown = { readonly wanted: Wanted; readonly error: TabStoreError };
const ServedRefused = lazily<Shown>(async () => (await ofServer!).ServedRefused);
const ServedFailed = lazily<Shown>(async () => (await ofServer!).ServedFailed);

/** How often to look whether the data of a failed instance is there. */
const LOOK_MS = 1000;

function Lost({ wanted }: { readonly wanted: Wanted }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Banner
        tone="error"
        title={`The browser has lost the data of “${wanted.name}”`}
        actions={
          <>
            <button type="button" class="button" onClick={() => setAsking(true)}>
              Begin anew …
            </button>
            <AllInstances />
          </>
        }
      >
        This instance had data here, and its storage is gone or empty. Browsers delete data to make room, or when they repair a broken database. TabStore opens
        nothing in its place until you say so.
      </Banner>
      {asking && <BeginAnew wanted={wanted} onClose={() => setAsking(false)} />}
    </>
  );
}

function AllInstances() {
  return (
    <button type="button" class="button" onClick={() => navigate({})}>
      All instances
    </button>
  );
}

/** An address may be mistyped, or older than the deletion of what it names. */
function Missing({ wanted }: { readonly wanted: Wanted }) {
  return (
    <Banner
      tone="warning"
      title={`There is no instance called “${wanted.name}”`}
      actions={
        <>
          <button type="button" class="button" onClick={() => void openInstance({ ...wanted, create: true })}>
            Create it
          </button>
          <AllInstances />
        </>
      }
    >
      This browser has none at this address, and nothing was created. If it was here before, it was deleted, or the site's data was cleared.
    </Banner>
  );
}

function Refused({ wanted, error }: { readonly wanted: Wanted; readonly error: TabStoreError }) {
  if (served !== undefined) return <ServedRefused wanted={wanted} error={error} />;
  const back = <AllInstances />;
  if (error.code === "DataLost") return <Lost wanted={wanted} />;
  if (error.code === "OTSObjectNotExist") return <Missing wanted={wanted} />;
  if (error.code === "Busy") {
    return (
      <Banner tone="warning" title={`Another tab has “${wanted.name}” open`} actions={back}>
        It does not share it: it may be frozen, or run another version. Reload or close it there: this page opens the instance as soon as it can.
      </Banner>
    );
  }
  if (error.code === "Unavailable") {
    const memory = () => navigate({ ...route.value, storage: "memory" });
    return (
      <Banner
        tone="error"
        title="This browser does not let the page keep data"
        actions={
          <>
            <button type="button" class="button" onClick={memory}>
              Open in memory instead
            </button>
            {back}
          </>
        }
      >
        Private windows are often so. In memory everything works, but is gone when the page is closed or reloaded. <span class="faint">({error.message})</span>
      </Banner>
    );
  }
  // A page whose site's data was cleared has lost its locks too: it cannot start an engine any more, and a fresh page can.
  const again =
    error.code === "Closed" ? (
      <button type="button" class="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    ) : (
      <button type="button" class="button" onClick={() => void openInstance(wanted)}>
        Try again
      </button>
    );
  return (
    <Banner
      tone="error"
      title={`“${wanted.name}” could not be opened`}
      actions={
        <>
          {again}
          {back}
        </>
      }
    >
      <code>{error.code}</code> {sentence(error.message)}
      {error.code === "OTSQuotaExhausted" && " Delete one that you do not need, then try again. Those of lessons and examples count too."}
    </Banner>
  );
}

/** What is known of the data of an instance that has failed: it is looked for, because only that tells whether it is there. */
function useWhatIsLeft({ name, storage }: Wanted): string | undefined {
  const [left, setLeft] = useState<string>();
  useEffect(() => {
    if (storage === "memory") {
      setLeft("It was in memory only: its tables are gone.");
      return undefined;
    }
    const look = () =>
      void describeInstance(name).then(
        () => setLeft(undefined),
        (error: unknown) =>
          setLeft(
            asError(error).code === "OTSObjectNotExist"
              ? "Its tables are no longer in this browser. If there is a copy elsewhere, import it into a new instance."
              : undefined,
          ),
      );
    look();
    // While it is being deleted it may still be listed.
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [name, storage]);
  return left;
}

function Failed({ wanted, error }: { readonly wanted: Wanted; readonly error: TabStoreError }) {
  const left = useWhatIsLeft(wanted);
  return (
    <Banner
      tone="error"
      title={`“${wanted.name}” can no longer be used here`}
      actions={
        <>
          <button type="button" class="button" onClick={() => void openInstance(wanted)}>
            Open it again
          </button>
          <AllInstances />
        </>
      }
    >
      <code>{error.code}</code> {sentence(error.message)} {left}
    </Banner>
  );
}

/** The messages about the instance now. */
export function SessionBanners() {
  const current = session.value;
  switch (current.state) {
    case "none":
      return null;
    case "opening":
      return (
        <div class="opening" role="status">
          Opening “{current.wanted.name}” …
        </div>
      );
    case "refused":
      return <Refused wanted={current.wanted} error={current.error} />;
    case "failed":
      return served === undefined ? <Failed wanted={current.wanted} error={current.error} /> : <ServedFailed wanted={current.wanted} error={current.error} />;
    case "open":
      return (
        <>
          {current.db.persistence === "memory" && (
            <Banner tone="warning" title="This instance is in memory only">
              {served === undefined ? "Its tables are gone when it is closed or the page is reloaded." : "Its tables are gone when the server stops."}
            </Banner>
          )}
          <Troubles />
        </>
      );
  }
}
