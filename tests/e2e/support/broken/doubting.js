// Its engine never hears whether a commit was stored, or not: the next one after the page has posted "doubt" to its worker, or has
// called `doubtHere`. The commit is stored, in IndexedDB or in a file, and an error that the engine cannot explain is told
// instead.
let doubts = false;
whenAsked("doubt", () => {
  doubts = true;
});
const unknown = () => new DOMException("nobody knows", "DataError");

const begin = IDBDatabase.prototype.transaction;
IDBDatabase.prototype.transaction = function (stores, mode, options) {
  const transaction = begin.call(this, stores, mode, options);
  if (!doubts || mode !== "readwrite") return transaction;
  doubts = false;
  let abort;
  Object.defineProperty(transaction, "onabort", {
    set: (run) => {
      abort = run;
    },
  });
  Object.defineProperty(transaction, "error", { get: unknown });
  Object.defineProperty(transaction, "oncomplete", { set: () => transaction.addEventListener("complete", (event) => abort?.(event)) });
  return transaction;
};

const Handle = globalThis.FileSystemSyncAccessHandle;
if (Handle !== undefined) {
  let torn = false;
  const { write, truncate } = Handle.prototype;
  Handle.prototype.write = function (...given) {
    const written = write.apply(this, given);
    if (!doubts) return written;
    doubts = false;
    torn = true;
    throw unknown();
  };
  Handle.prototype.truncate = function (length) {
    if (torn) {
      torn = false;
      throw unknown();
    }
    truncate.call(this, length);
  };
}
