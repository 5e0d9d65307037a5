/** The documents of the package that have the lessons' rules. They are loaded when somebody opens one, so they can be read offline. */

const DOCUMENTS: Readonly<Record<string, () => Promise<{ readonly default: string }>>> = {
  "rows.md": () => import("../../../pkg/docs/rows.md?raw"),
  "inside.md": () => import("../../../pkg/docs/inside.md?raw"),
  "many-rows.md": () => import("../../../pkg/docs/many-rows.md?raw"),
  "indexes-and-transactions.md": () => import("../../../pkg/docs/indexes-and-transactions.md?raw"),
};

/** The text of a document. */
export async function loadDocument(name: string): Promise<string> {
  const load = DOCUMENTS[name];
  if (load === undefined) throw new Error(`There is no document ${name}.`);
  return (await load()).default;
}
