// A shopping list, with the console as a panel of the page. In a build neither the plugin nor the panel is there.

import { open } from "tabstore";

if (import.meta.env.DEV) await import("tabstore/inspector");

const db = await open("shopping", { memtableBytes: 4 * 1024 * 1024 });
await db.createTable({ tableName: "thing", primaryKey: [{ name: "name", type: "STRING" }], ifNotExists: true });

const form = document.querySelector("form");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = form.elements.thing.value;
  form.reset();
  await db.putRow({ tableName: "thing", primaryKey: { name } });
});
form.querySelector("button").disabled = false;

// Rows that come or go in any tab, the console's among them.
for await (const { rows } of db.watch({ tableName: "thing" })) {
  const items = rows.map((row) => Object.assign(document.createElement("li"), { textContent: String(row.primaryKey.name) }));
  document.querySelector("ul").replaceChildren(...items);
}
