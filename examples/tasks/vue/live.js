import { onScopeDispose, shallowRef } from "vue";

/** What a live query or a live count shows, as long as the component lives: a ref that Vue does not look into. */
export function useLive(make, ready) {
  const shown = shallowRef({});
  let end;
  let over = false;
  ready.then((db) => {
    if (over) return;
    const live = make(db);
    end = live.subscribe(() => (shown.value = live.getSnapshot()));
  });
  onScopeDispose(() => {
    over = true;
    end?.();
  });
  return shown;
}
