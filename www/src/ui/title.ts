/** What the tab is called while a page without an instance is shown. */

import { useEffect } from "preact/hooks";

const OWN = "TabStore console";

/** Names the tab, as long as the component is shown. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? OWN : `${title} – ${OWN}`;
    return () => {
      document.title = OWN;
    };
  }, [title]);
}
