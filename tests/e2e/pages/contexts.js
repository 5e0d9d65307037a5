// A page that has other contexts of its origin run code: workers of every kind, and frames. Each has the package as `T`.

import "./page.js";

/** The contexts by name, as functions that post a message to them. */
const contexts = new Map();
const calls = new Map();
let last = 0;

function take({ data: { id, value, error } }) {
  const { resolve, reject } = calls.get(id);
  calls.delete(id);
  if (error === undefined) resolve(value);
  else reject(Object.assign(new Error(error.message), error));
}

/** A port to a context; the context gets the other end in a message, or when it connects. */
const START = {
  "dedicated worker"(script) {
    const worker = new Worker(script, { type: "module" });
    return introduce(
      (message, ports) => worker.postMessage(message, ports),
      (run) => {
        worker.onerror = (event) => run(event.message);
      },
    );
  },
  "shared worker"(script) {
    const worker = new SharedWorker(script, { type: "module", name: script });
    worker.port.start();
    return introduce(
      (message, ports) => worker.port.postMessage(message, ports),
      (run) => {
        worker.onerror = (event) => run(event.message);
      },
    );
  },
  async "service worker"(script) {
    // A scope of its own: it takes the place of no other one.
    const { installing, waiting, active } = await navigator.serviceWorker.register(script, { type: "module", scope: script });
    const worker = installing ?? waiting ?? active;
    await new Promise((resolve) => {
      const look = () => worker.state === "activated" && resolve();
      worker.addEventListener("statechange", look);
      look();
    });
    // The browser ends an idle service worker, and with it its ports. So each call brings a port of its own.
    return (message) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = take;
      worker.postMessage(message, [port2]);
    };
  },
};

/** Gives a context a port, and waits until it answers there. */
function introduce(post, onError) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = take;
  post({}, [port2]);
  onError((message) => {
    for (const { reject } of calls.values()) reject(new Error(`the context failed: ${message}`));
    calls.clear();
  });
  return (message) => port1.postMessage(message);
}

/** Starts a context of a kind. */
globalThis.start = async ({ name, kind, script }) => {
  contexts.set(name, await START[kind](script));
};

/** Has a context call a function. */
globalThis.ask = ({ name, body, argument }) =>
  new Promise((resolve, reject) => {
    const id = ++last;
    calls.set(id, { resolve, reject });
    contexts.get(name)({ id, body, argument });
  });
