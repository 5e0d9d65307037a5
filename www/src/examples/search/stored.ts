/** Where this page keeps its index between reloads: a database of its own. */

import { openDB } from "idb";

import type { Saved } from "../../../../examples/search/search.ts";

const opened = () => openDB<{ index: { key: string; value: Saved } }>("example-search", 1, { upgrade: (store) => void store.createObjectStore("index") });

/** The index that was stored last. */
export async function loadIndex(): Promise<Saved | undefined> {
  const store = await opened();
  try {
    return await store.get("index", "movie");
  } finally {
    store.close();
  }
}

/** Stores an index. */
export async function storeIndex(saved: Saved): Promise<void> {
  const store = await opened();
  try {
    await store.put("index", saved, "movie");
  } finally {
    store.close();
  }
}
