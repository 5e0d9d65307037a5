/** The plain truth about the instance: another tab keeps it to itself, this browser cannot keep it, it was lost, it is gone when closed, it failed, it has a problem. */

import { useState } from "preact/hooks";
import type { TabStoreError } from "tabstore";

import { navigate, route } from "../state/route.ts";
import { openInstance, session, type Wanted } from "../state/session.ts";
import { Banner } from "../ui/notice.tsx";
import { BeginAnew } from "./begin-anew.tsx";
import { Troubles } from "./troubles.tsx";

function Lost({ wanted }: { readonly wanted: Wanted }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Banner tone="error" title={`The browser has lost the data of “${wanted.name}”`} actions={<>
        <button type="button" class="button" onClick={() => setAsking(true)}>Begin anew …</button><AllInstances />
      </>}>
        This instance had data here, and its storage is gone or empty. Browsers delete data to make room, or when they repair a
        broken database. TabStore opens nothing in its place until you say so.
      </Banner>
      {asking && <BeginAnew wanted={wanted} onClose={() => setAsking(false)} />}
    </>
  );
}

function AllInstances() {
  return <button type="button" class="button" onClick={() => navigate({})}>All instances</button>;
}

function Refused({ wanted, error }: { readonly wanted: Wanted; readonly error: TabStoreError }) {
  const back = <AllInstances />;
  if (error.code === "DataLost") return <Lost wanted={wanted} />;
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
      <Banner tone="error" title="This browser does not let the page keep data" actions={<>
        <button type="button" class="button" onClick={memory}>Open in memory instead</button>{back}
      </>}>
        Private windows are often so. In memory everything works, but is gone when the page is closed or reloaded. <span class="faint">({error.message})</span>
      </Banner>
    );
  }
  return (
    <Banner tone="error" title={`“${wanted.name}” could not be opened`} actions={<>
      <button type="button" class="button" onClick={() => void openInstance(wanted)}>Try again</button>{back}
    </>}>
      <code>{error.code}</code> {error.message}
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
      return <div class="opening" role="status">Opening “{current.wanted.name}” …</div>;
    case "refused":
      return <Refused wanted={current.wanted} error={current.error} />;
    case "failed":
      return (
        <Banner tone="error" title={`“${current.wanted.name}” can no longer be used here`} actions={
          <button type="button" class="button" onClick={() => void openInstance(current.wanted)}>Open it again</button>
        }>
          <code>{current.error.code}</code> {current.error.message} Everything that was acknowledged is stored.
        </Banner>
      );
    case "open":
      return (
        <>
          {current.db.persistence === "memory" && <Banner tone="warning" title="This instance is in memory only">Its tables are gone when it is closed or the page is reloaded.</Banner>}
          <Troubles />
        </>
      );
  }
}
