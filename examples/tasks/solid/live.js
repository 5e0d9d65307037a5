import { from } from "solid-js";

/** What a live query or a live count shows, as a signal, as long as its owner lives. */
export function liveSignal(make, ready) {
  return from((set) => {
    let end = () => {};
    let over = false;
    ready.then((db) => {
      if (over) return;
      const live = make(db);
      end = live.subscribe(() => set(() => live.getSnapshot()));
    });
    return () => {
      over = true;
      end();
    };
  });
}
