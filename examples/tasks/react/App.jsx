import { useCount, useDatabase, useRows } from "tabstore/react";
import { add, newest, ready } from "./store.js";

export function App() {
  const db = useDatabase(ready);
  const { rows, error } = useRows(db && newest(db));
  const count = useCount(db?.task);
  const submit = (event) => {
    event.preventDefault();
    add(new FormData(event.target).get("title"));
    event.target.reset();
  };
  if (error !== undefined) return <p>{String(error)}</p>;
  return (
    <>
      <h1>Tasks</h1>
      <form onSubmit={submit}>
        <input name="title" aria-label="Title" />
        <button>Add</button>
      </form>
      <p>{count} in all</p>
      <ul>
        {rows?.map(({ id, title }) => (
          <li key={id}>{title}</li>
        ))}
      </ul>
    </>
  );
}
