/** Texts that are loaded when they are shown, in the language of the reader. */

import { useEffect, useState } from "preact/hooks";

import { language } from "../state/language.ts";
import type { Language } from "./language.ts";

/** A catalogue in each language. */
export type Catalogues<T> = Readonly<Record<Language, () => Promise<T>>>;

/** What has come. */
export interface LoadedTexts<T> {
  readonly texts?: T;
  readonly error?: unknown;
}

/** The texts; those of the language before stand until the new ones have come. `catalogues` has to be the same at each call. */
export function useTexts<T>(catalogues: Catalogues<T>): LoadedTexts<T> {
  const [loaded, setLoaded] = useState<LoadedTexts<T>>({});
  const wanted = language.value;
  useEffect(() => {
    let over = false;
    catalogues[wanted]().then(
      (texts) => {
        if (!over) setLoaded({ texts });
      },
      (error: unknown) => {
        if (!over) setLoaded({ error });
      },
    );
    return () => {
      over = true;
    };
  }, [catalogues, wanted]);
  return loaded;
}
