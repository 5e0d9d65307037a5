// A React app in StrictMode under Vite's own server, edited while it runs.

// Typed tables, shown by the hooks: a query of an index, and a row.
const NOTES = `
import { open } from "tabstore";
import { useCount, useDatabase, useRow, useRows } from "tabstore/react";
import { define, t } from "tabstore/schema";

const schema = define({ note: { key: "id", columns: { id: t.integer, title: t.text, at: t.date }, indexes: { byAt: ["at"] } } });
const ready = open("app", { schema });

export function Notes() {
  const db = useDatabase(ready);
  const { rows, error } = useRows(db?.note.by.byAt.reverse().limit(2));
  const first = useRow(db?.note, 1);
  const count = useCount(db?.note);
  if (error !== undefined) trouble.push(String(error));
  globalThis.notes = db;
  return <p id="notes">{(rows?.map(({ title }) => title).join(" ") ?? "none yet") + "; first: " + first?.title + "; " + count}</p>;
}
`;

/** The app: a component that opens the instance as often as it mounts, and a module that opens it whenever it is loaded. */
export const REACT = {
  name: "Vite 8 with React: StrictMode and 20 edits while it runs leave one engine, and nothing is refused",
  folder: "react",
  dev: { vite: "8.3.8", "@vitejs/plugin-react": "6.3.0", react: "19.3.1", "react-dom": "19.3.1" },
  serve: ["node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--strictPort", "--port"],
  files: () => ({
    "index.html": `<!doctype html><meta charset="utf-8"><title>app</title><div id="root"></div><script type="module" src="/main.jsx"></script>\n`,
    "vite.config.js": `import react from "@vitejs/plugin-react";\nexport default { plugins: [react()] };\n`,
    "main.jsx": `
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.jsx";
globalThis.trouble = [];
globalThis.mounts = 0;
addEventListener("error", ({ message }) => trouble.push(message));
addEventListener("unhandledrejection", ({ reason }) => trouble.push(String(reason)));
createRoot(document.getElementById("root")).render(<StrictMode><App /></StrictMode>);
`,
    "App.jsx": component(0),
    "Notes.jsx": NOTES,
    "store.js": store(0),
  }),
};

// React runs an effect again after an edit if what it depends on has changed. The live query tells what was counted.
const component = (edit) => `
import { useEffect, useState } from "react";
import { open } from "tabstore";
import { useRows } from "tabstore/react";
import { Notes } from "./Notes.jsx";
import { loaded } from "./store.js";

const EDIT = ${edit};

export function App() {
  const [{ db, from }, setOpened] = useState({});
  useEffect(() => {
    const control = new AbortController();
    const opening = open("app", { signal: control.signal });
    (async () => {
      const db = await opening;
      const store = await loaded;
      if (control.signal.aborted) return;
      mounts += 1;
      await db.updateRow({ tableName: "t", primaryKey: { id: 1 }, increment: { mounts: 1 } });
      if (!control.signal.aborted) setOpened({ db, from: "component ${edit}, store " + store });
    })().catch((error) => {
      if (!control.signal.aborted) trouble.push(String(error));
    });
    return () => {
      control.abort();
      setOpened({});
      opening.then((db) => db.close(), () => {});
    };
  }, [EDIT, loaded]);
  const { rows, error } = useRows(db, { tableName: "t", primaryKey: { id: 1 } });
  if (error !== undefined) trouble.push(String(error));
  return <><p id="seen">{rows?.length === 1 && from + ", mounts " + rows[0].get("mounts")}</p><Notes /></>;
}
`;

// Its handles are never closed: modules that are replaced have no end.
const store = (edit) => `
import { open } from "tabstore";

export const loaded = (async () => {
  const db = await open("app");
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] }).catch((error) => {
    if (error.code !== "OTSObjectAlreadyExist") throw error;
  });
  globalThis.engine = db;
  return ${edit};
})().catch((error) => void trouble.push(String(error)));
`;

/** The edits, one after another: the file, its text, and what the page then shows. */
export function* edits(times) {
  const at = { component: 0, store: 0 };
  for (let edit = 1; edit <= times; edit++) {
    const what = edit % 2 === 0 ? "store" : "component";
    at[what] = edit;
    yield {
      file: what === "store" ? "store.js" : "App.jsx",
      text: (what === "store" ? store : component)(edit),
      shows: `component ${at.component}, store ${at.store}, `,
    };
  }
}
