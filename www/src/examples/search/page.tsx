/** The page of the search: a box, what it finds as one types, and buttons that change the table. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Database } from "tabstore";

import { type Hit, marked, TableSearch } from "../../../../examples/search/search.ts";
import { count, counted } from "../../lib/format.ts";
import { useAction } from "../../ui/action.ts";
import { TextField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ErrorNote } from "../../ui/notice.tsx";
import { StreamExample, useFollower } from "../streams.tsx";
import { add, clear, FIELDS, fill, MOVIES, remove } from "./samples.ts";
import { loadIndex, storeIndex } from "./stored.ts";

/** How many of the movies found are shown. */
const MOST = 30;
/** The index is stored when nothing has changed for so long. */
const QUIET_MS = 800;

function Marked({ text, words }: { readonly text: string; readonly words: readonly string[] }) {
  return <>{marked(text, words).map(({ part, hit }, at) => (hit ? <mark key={at}>{part}</mark> : part))}</>;
}

function Found({ hit: { texts, words, primaryKey }, db }: { readonly hit: Hit; readonly db: Database }) {
  const { busy, error, run } = useAction();
  const { title = "", director = "", genre = "" } = texts;
  return (
    <li class="hit">
      <div class="hit-text">
        <b>
          <Marked text={title === "" ? "(no title)" : title} words={words} />
        </b>
        <span class="faint">
          <Marked text={[director, genre].filter((one) => one !== "").join(" · ")} words={words} />
        </span>
        <ErrorNote error={error} />
      </div>
      <button
        type="button"
        class="button quiet square"
        aria-disabled={busy}
        title="Delete this row"
        aria-label={`Delete ${title}`}
        onClick={() =>
          run(async () => {
            await remove(db, primaryKey);
          })
        }
      >
        <Icon name="remove" />
      </button>
    </li>
  );
}

/** The index, which follows the table and is stored when it is quiet. `steps` rises with each step. */
function useIndex(db: Database) {
  const search = useRef<TableSearch | undefined>(undefined);
  const [state, setState] = useState({ steps: 0, stored: 0, kept: false, begun: "" });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const start = async function* (signal: AbortSignal) {
    // An index that cannot be read is made anew.
    const saved = await loadIndex().catch(() => undefined);
    const index = new TableSearch(FIELDS, saved);
    search.current = index;
    const begun = saved === undefined ? "The index was made of the whole table." : `The index went on from the stored one, of ${counted(index.size, "row")}.`;
    setState((before) => ({ ...before, steps: before.steps + 1, begun }));
    yield* index.follow(db, MOVIES.tableName, signal);
  };
  const error = useFollower(true, start, () => {
    setState((before) => ({ ...before, steps: before.steps + 1, kept: false }));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const saved = search.current?.save();
      if (saved !== undefined)
        storeIndex(saved).then(
          () => setState((before) => ({ ...before, kept: true })),
          () => {},
        );
    }, QUIET_MS);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return { search: search.current, error, ...state };
}

function AddMovie({ db }: { readonly db: Database }) {
  const { busy, error, run } = useAction();
  const [title, setTitle] = useState("");
  const [director, setDirector] = useState("");
  const submit = () => {
    if (title.trim() === "") return;
    run(async () => {
      await add(db, title.trim(), director.trim());
      setTitle("");
      setDirector("");
    });
  };
  return (
    <form
      class="card"
      aria-label="Put a movie"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <h2>Put a row</h2>
      <TextField label="Title" value={title} onInput={setTitle} />
      <TextField label="Director" value={director} onInput={setDirector} />
      <div>
        <button type="submit" class="button" aria-disabled={busy || title.trim() === ""}>
          Put the movie
        </button>
      </div>
      <ErrorNote error={error} />
    </form>
  );
}

function Results({ db, found, query, empty }: { readonly db: Database; readonly found: readonly Hit[]; readonly query: string; readonly empty: boolean }) {
  if (empty) return <p class="empty in-grid">There are no movies to search. Load them, or put one.</p>;
  if (query === "") return <p class="empty in-grid">Type a word, or its beginning: a title, a director, a genre. A slip of the keys does no harm.</p>;
  if (found.length === 0) return <p class="empty in-grid">Nothing is like “{query}”.</p>;
  return (
    <ol class="hits">
      {found.slice(0, MOST).map((hit) => (
        <Found key={JSON.stringify(hit.primaryKey)} hit={hit} db={db} />
      ))}
    </ol>
  );
}

function Searching({ db }: { readonly db: Database }) {
  const { search, error, steps, begun, kept } = useIndex(db);
  const { busy, error: failure, run } = useAction();
  const [query, setQuery] = useState("");
  const id = useId();
  const words = query.trim();
  const found = useMemo(() => (words === "" ? [] : (search?.search(words) ?? [])), [words, steps]);
  const size = search?.size ?? 0;
  return (
    <div class="search-page">
      <section class="stack" aria-label="Search">
        <div class="field">
          <label for={id}>Search the movies</label>
          <input
            id={id}
            type="search"
            class="search-box"
            value={query}
            placeholder="king kon"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
          <p class="hint" role="status">
            {words === ""
              ? `${counted(size, "row")} in the index.`
              : `${count(found.length)} of ${counted(size, "row")} found${found.length > MOST ? `; the best ${MOST} are shown` : ""}.`}
          </p>
        </div>
        <ErrorNote error={error} />
        <Results db={db} found={found} query={words} empty={size === 0} />
      </section>
      <aside class="stack" aria-label="The table">
        <div class="card">
          <h2>The table</h2>
          <p class="faint">{begun}</p>
          <p class="faint">{kept ? "It is stored for the next time." : "It is stored when the table is quiet."}</p>
          <div class="row">
            {size === 0 ? (
              <button type="button" class="button primary" aria-disabled={busy} onClick={() => run(() => fill(db))}>
                Load 3,201 movies
              </button>
            ) : (
              <button type="button" class="button" aria-disabled={busy} onClick={() => run(() => clear(db))}>
                Delete all movies
              </button>
            )}
          </div>
          <ErrorNote error={failure} />
        </div>
        <AddMovie db={db} />
      </aside>
    </div>
  );
}

/** The page. */
export const SearchPage = () => <StreamExample tables={[MOVIES]}>{(db) => <Searching db={db} />}</StreamExample>;
