/** The moments at which a person comes back to this page. Other tabs may have changed what it shows. */

let away = false;
const runs = new Set<() => void>();

function back(): void {
  if (!away || document.hidden) return;
  away = false;
  for (const run of runs) run();
}

addEventListener("blur", () => {
  away = true;
});
addEventListener("focus", back);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) away = true;
  else back();
});

/** Calls `run` whenever a person comes back, until the returned function is called. */
export function onLook(run: () => void): () => void {
  runs.add(run);
  return () => {
    runs.delete(run);
  };
}
