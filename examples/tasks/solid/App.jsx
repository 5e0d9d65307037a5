import { For } from "solid-js";
import { liveSignal } from "./live.js";
import { add, newest, ready } from "./store.js";

export function App() {
  const tasks = liveSignal((db) => newest(db).watch(), ready);
  const count = liveSignal((db) => db.task.watchCount(), ready);
  const submit = (event) => {
    event.preventDefault();
    add(new FormData(event.target).get("title"));
    event.target.reset();
  };
  return (
    <>
      <h1>Tasks</h1>
      <form onSubmit={submit}>
        <input name="title" aria-label="Title" />
        <button>Add</button>
      </form>
      <p>{count()?.count} in all</p>
      <ul>
        <For each={tasks()?.rows}>{(task) => <li>{task.title}</li>}</For>
      </ul>
    </>
  );
}
