/** Texts that outlast a reload: in the browser's local storage, which a page may not have. */

/** The text of a place; nothing if there is none, or no storage. */
export function storedText(place: string): string | undefined {
  try {
    return localStorage.getItem(place) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores it. Without a storage, or in a full one, it lasts until the page goes. */
export function storeText(place: string, text: string): void {
  try {
    localStorage.setItem(place, text);
  } catch {
    // Nothing depends on it.
  }
}
