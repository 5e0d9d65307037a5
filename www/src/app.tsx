/** The whole page: one of its two faces, and the consequences of the address. */

import { untracked, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { CallLog } from "./calls/call-log.tsx";
import { EnginePanel } from "./engine/panel.tsx";
import { Examples } from "./examples/examples.tsx";
import { exampleTitle } from "./examples/registry.tsx";
import { Header } from "./header.tsx";
import { JobCard } from "./importing/job-card.tsx";
import { SessionBanners } from "./instance/banners.tsx";
import { Welcome } from "./instance/welcome.tsx";
import { healthChanged, leaveToTables } from "./state/health.ts";
import { onLook } from "./state/look.ts";
import { route } from "./state/route.ts";
import { shellIsOpen, shellKey } from "./state/shell.ts";
import { update } from "./state/offline.ts";
import { closeInstance, isAskedFor, openInstance, session, wantedAt } from "./state/session.ts";
import { currentTable, readAgain, refreshTables, tables } from "./state/tables.ts";
import { leadMoved } from "./state/tabs.ts";
import { TableList } from "./tables/table-list.tsx";
import { TableView } from "./tables/table-view.tsx";
import { lazily } from "./ui/lazily.tsx";
import { Banner } from "./ui/notice.tsx";

const ShellDrawer = lazily(async () => (await import("./shell/index.tsx")).ShellDrawer);
const AzureView = lazily(async () => (await import("./azure/index.tsx")).AzureView);
const UnitsView = lazily(async () => (await import("./monitor/index.tsx")).UnitsView);
const TimeView = lazily(async () => (await import("./time/index.tsx")).TimeView);
const LessonView = lazily(async () => (await import("./lessons/index.tsx")).LessonView);
const ShowView = lazily(async () => (await import("./show/index.tsx")).ShowView);
const CodeView = lazily(async () => (await import("./code/index.tsx")).CodeView);
const InsideView = lazily(async () => (await import("./inside/index.tsx")).InsideView);

/** What the address names of the open instance. */
function Shown() {
  const { account, view } = route.value;
  if (view === "units") return <UnitsView />;
  if (view === "inside") return <InsideView />;
  if (view === "code") return <CodeView />;
  if (view === "time" && currentTable.value !== undefined) return <TimeView />;
  return account === undefined ? <TableView /> : <AzureView />;
}

/** The page without an open instance. */
function Unopened() {
  const { example, lesson, step } = route.value;
  if (example !== undefined) return <Examples />;
  if (lesson !== undefined) return <LessonView />;
  return step !== undefined ? <ShowView /> : <Welcome />;
}

/** Opens what the address names, and closes what it names no more. */
function followAddress(): void {
  const { instance, storage = "indexeddb", clock } = route.value;
  const current = session.peek();
  if (instance === undefined) {
    if (current.state !== "none") void closeInstance();
    return;
  }
  const wanted = current.state === "none" ? undefined : current.wanted;
  // A clock that moves is the same clock: only having one or not asks for another engine.
  const again = current.state === "refused" && isAskedFor(instance);
  const same =
    !again && wanted !== undefined && wanted.name === instance && wanted.storage === storage && (wanted.clock === undefined) === (clock === undefined);
  if (!same) void openInstance(wantedAt({ name: instance, storage, clock }));
}

/** Reads again when something may have changed elsewhere: another tab leads, or the instance has told of its health. */
function followOthers(): void {
  if (leadMoved.value + healthChanged.value > 0) untracked(readAgain);
}

/** A new version of the console is there. The page is loaded again when a person says so: a form may be half filled. */
function UpdateBanner() {
  if (update.value === undefined) return null;
  const action = (
    <button type="button" class="button" onClick={update.value}>
      Reload
    </button>
  );
  return <Banner tone="info" title="A new version of the console is there" actions={action} />;
}

/** The page. */
export function App() {
  useSignalEffect(followAddress);
  useSignalEffect(() => {
    const current = session.value;
    const name = current.state === "none" ? exampleTitle.value : current.wanted.name;
    document.title = name === undefined ? "TabStore console" : `${name} – TabStore console`;
    void refreshTables();
  });
  useSignalEffect(followOthers);
  useSignalEffect(() => leaveToTables(tables.value ?? []));
  useEffect(() => onLook(readAgain), []);
  useEffect(shellKey, []);
  const open = session.value.state === "open";
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header />
      <UpdateBanner />
      <SessionBanners />
      {open ? (
        <div class="workplace">
          <TableList />
          <main id="main" tabIndex={-1} aria-labelledby="title">
            <JobCard />
            <Shown />
          </main>
          <EnginePanel />
        </div>
      ) : (
        <Unopened />
      )}
      {open && shellIsOpen.value && (
        <section id="shell" class="shell" aria-label="Shell">
          <ShellDrawer />
        </section>
      )}
      {open && <CallLog />}
    </>
  );
}
