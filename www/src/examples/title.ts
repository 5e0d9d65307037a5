/** What an example writes before its title, so that people find its tab. */

import { signal } from "@preact/signals";

/** A short text with a space at its end, or nothing. */
export const titleMark = signal("");
