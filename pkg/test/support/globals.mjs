// Imports a file, and prints the globals beyond the language's own that it reads or makes meanwhile.

import vm from "node:vm";

const { console: terminal } = globalThis;
const language = new Set(vm.runInNewContext("Object.getOwnPropertyNames(globalThis)"));
const ofBrowsers = ["window", "self", "document", "location", "localStorage", "indexedDB", "Worker", "SharedWorker"];
const read = new Set();
for (const name of [...Object.getOwnPropertyNames(globalThis), ...ofBrowsers]) {
  if (language.has(name)) continue;
  const own = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      read.add(name);
      return own?.get === undefined ? own?.value : own.get.call(globalThis);
    },
  });
}
const before = new Set(Object.getOwnPropertyNames(globalThis));
await import(process.argv[2]);
terminal.log(
  JSON.stringify({
    read: [...read].filter((name) => name !== "process").sort(),
    made: Object.getOwnPropertyNames(globalThis).filter((name) => !before.has(name)),
  }),
);
