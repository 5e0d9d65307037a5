// Any worker: runs the functions that a page sends, with the package as `T`.

/** Runs what comes on a port. */
async function run({ id, body, argument }, port) {
  try {
    port.postMessage({ id, value: await (0, eval)(`(${body})`)(argument) });
  } catch (error) {
    const { name, code, status, retryable, message, hint } = error;
    port.postMessage({ id, error: { name, code, status, retryable, message: String(message ?? error), hint } });
  }
}

export function serveContext(tabstore) {
  globalThis.T = tabstore;
  const listen = (port) => {
    port.onmessage = (event) => void run(event.data, port);
  };
  addEventListener("connect", ({ ports: [own] }) => {
    own.onmessage = ({ ports: [port] }) => listen(port);
  });
  addEventListener("message", (event) => {
    const [port] = event.ports;
    if (event.data.id === undefined) listen(port);
    // A service worker lives for as long as it answers.
    else event.waitUntil(run(event.data, port));
  });
}
