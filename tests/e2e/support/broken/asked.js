/** Calls `run` as soon as the page has posted `word` to its worker; in the page itself, as soon as it has called `<word>Here`. */
// biome-ignore lint/correctness/noUnusedVariables: the scripts behind it in the page call it
function whenAsked(word, run) {
  if (typeof window !== "undefined") {
    globalThis[`${word}Here`] = run;
    return;
  }
  addEventListener("message", (event) => {
    if (event.data !== word) return;
    event.stopImmediatePropagation();
    run();
  });
}
