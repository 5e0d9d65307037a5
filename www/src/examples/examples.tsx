/** The part of the console with the examples: all of them to choose one, or one of them. */

import { useState } from "preact/hooks";

import { formatRoute, type Route } from "../lib/route.ts";
import { route } from "../state/route.ts";
import { type Example, EXAMPLES, shownExample } from "./registry.tsx";

const at = (example: string): Route => ({ example });

/** The examples, to choose one. */
export function ExampleCards() {
  return (
    <ul class="choices">
      {EXAMPLES.map(({ name, title, about }) => (
        <li key={name}>
          <a class="choice" href={formatRoute(at(name))}>
            <b>{title}</b>
            <span>{about}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The code, to read; it is loaded when somebody opens it. */
function Source({ name, source }: Pick<Example, "name" | "source">) {
  const [text, setText] = useState<string>();
  const load = () => {
    if (text === undefined) source().then(setText, (error: unknown) => setText(String(error)));
  };
  return (
    <details class="example-source" onToggle={load}>
      <summary>
        The code: <code>examples/{name}</code>
      </summary>
      <pre tabIndex={0}>
        <code>{text ?? "Loading …"}</code>
      </pre>
    </details>
  );
}

function OneExample({ example: { name, title, about, Page, source } }: { readonly example: Example }) {
  return (
    <main id="main" class="example" tabIndex={-1} aria-labelledby="title">
      <div class="example-head">
        <nav aria-label="Examples">
          <a href={formatRoute(at(""))}>Examples</a>
        </nav>
        <h1 id="title">{title}</h1>
        <p class="faint">{about}</p>
      </div>
      <Page />
      <Source name={name} source={source} />
    </main>
  );
}

/** The page. */
export function Examples() {
  const example = shownExample.value;
  if (example !== undefined) return <OneExample key={example.name} example={example} />;
  const asked = route.value.example;
  return (
    <main id="main" class="welcome" tabIndex={-1} aria-labelledby="title">
      <div class="intro">
        <h1 id="title">Examples</h1>
        <p>Small applications on the package. The logic of each is one short module, to read and to copy.</p>
      </div>
      <section class="card span" aria-labelledby="examples-title">
        <h2 id="examples-title">All examples</h2>
        {asked !== "" && <p class="empty">There is no example called {asked}.</p>}
        <ExampleCards />
      </section>
    </main>
  );
}
