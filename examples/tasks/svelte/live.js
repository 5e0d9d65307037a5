import { readable } from "svelte/store";

/** What a live query or a live count shows, as a store: it reads while somebody is subscribed. */
export function liveStore(make, ready) {
  return readable({}, (set) => {
    let end = () => {};
    let over = false;
    ready.then((db) => {
      if (over) return;
      const live = make(db);
      end = live.subscribe(() => set(live.getSnapshot()));
    });
    return () => {
      over = true;
      end();
    };
  });
}
