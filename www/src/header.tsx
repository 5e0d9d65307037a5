/** The top of the page: the open instance, its storage, and the look of the page. */

import { PARTS } from "./engine/tabs.tsx";
import { Icon } from "./ui/icon.tsx";
import { metrics } from "./state/metrics.ts";
import { navigate } from "./state/route.ts";
import { served } from "./state/served.ts";
import { session } from "./state/session.ts";
import { shellIsOpen, toggleShell } from "./state/shell.ts";
import { part } from "./state/tabs.ts";
import { nextTheme, theme } from "./state/theme.ts";

/** Where the data is: in a word, and in a sentence. */
const PLACES = {
  memory: ["in memory only", "The data is gone when the instance is closed"],
  indexeddb: ["IndexedDB", "The data is kept in this browser's IndexedDB"],
  "on the server, memory": ["server, in memory", "The data is on the server, and gone when it stops"],
  "on the server": ["server, in files", "The data is in files of the server"],
} as const;

const THEME_TITLES = { system: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" } as const;

function InstanceChip() {
  const current = session.value;
  if (current.state !== "open") return null;
  const { persistence, name } = current.db;
  const kind = metrics.value?.kind;
  const isKept = persistence !== "memory";
  const [place, title] = PLACES[served === undefined ? (isKept ? "indexeddb" : "memory") : isKept ? "on the server" : "on the server, memory"];
  return (
    <div class="instance-chip">
      <span class="instance-name" title="The open instance">
        {name}
      </span>
      {/* Its place is kept until it is known: else everything below moves on a phone. */}
      {kind === undefined ? (
        <span class="tag unknown" aria-hidden="true">
          high-performance
        </span>
      ) : (
        <span class="tag">{kind}</span>
      )}
      <span class={`tag ${isKept ? "good" : "caution"}`} title={title}>
        {place}
      </span>
      {persistence === "indexeddb" && (
        <span class={`tag part ${part.value === "leads now" ? "good" : ""}`} title={PARTS[part.value]}>
          {part.value}
        </span>
      )}
      <span class="visually-hidden" role="status">
        {part.value === "leads now" ? "This tab leads now" : ""}
      </span>
      <button type="button" class="button quiet" onClick={() => navigate({})}>
        Close instance
      </button>
    </div>
  );
}

/** The header. */
export function Header() {
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="TabStore console: all instances">
        <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
          <rect width="32" height="32" rx="7" class="brand-ground" />
          <g class="brand-bars">
            <rect x="7" y="7.5" width="18" height="4" rx="1.2" />
            <rect x="7" y="14" width="12" height="4" rx="1.2" opacity=".8" />
            <rect x="7" y="20.5" width="15" height="4" rx="1.2" opacity=".55" />
          </g>
        </svg>
        <span>
          <b>TabStore</b> console
        </span>
      </a>
      <InstanceChip />
      {session.value.state === "open" && (
        <button
          type="button"
          class="button quiet push"
          aria-expanded={shellIsOpen.value}
          aria-controls="shell"
          aria-keyshortcuts="`"
          title="The commands of the official tool (key `)"
          onClick={toggleShell}
        >
          <Icon name="shell" /> Shell
        </button>
      )}
      <button
        type="button"
        class={`button quiet square ${session.value.state === "open" ? "" : "push"}`}
        title={THEME_TITLES[theme.value]}
        aria-label={`${THEME_TITLES[theme.value]}. Change.`}
        onClick={nextTheme}
      >
        <Icon name={theme.value} />
      </button>
    </header>
  );
}
