/**
 * The worker's side of the port: one engine a worker. Its only state is the host.
 */

import { toRecord } from "./errors.js";
import { type EngineHost, type FromWorker, OPENING, type ToWorker, TRANSFER_FROM } from "./host/host.js";
import { openThread } from "./host/thread.js";
import { live } from "./lock.js";

const port = globalThis as unknown as {
  postMessage(message: FromWorker | Uint8Array, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker | Uint8Array>) => void) | null;
};

let host: EngineHost | undefined;

/**
 * Sends a response frame and transfers its buffer. A part of a larger buffer is copied first, or all of that would go
 * along.
 */
function send(frame: Uint8Array): void {
  const bytes = frame.byteLength === frame.buffer.byteLength ? frame : frame.slice();
  if (bytes.length >= TRANSFER_FROM) port.postMessage(bytes, [bytes.buffer]);
  else port.postMessage(bytes);
}

async function answer(id: number, work: () => Promise<unknown>): Promise<void> {
  try {
    port.postMessage({ kind: "result", id, value: await work() });
  } catch (error) {
    port.postMessage({ kind: "error", id, error: toRecord(error) });
  }
}

port.onmessage = ({ data }) => {
  if (data instanceof Uint8Array) {
    host?.submit(data);
    return;
  }
  switch (data.kind) {
    case "open":
      void answer(OPENING, async () => {
        const living = live(data.options.client).then((alive) => {
          if (alive) port.postMessage({ kind: "alive" });
        });
        host = await openThread(data.module, data.options, {
          onResponses: send,
          onFailure: (error) => port.postMessage({ kind: "failed", error: toRecord(error) }),
          onTrouble: (error) => port.postMessage({ kind: "trouble", error: error === null ? null : toRecord(error) }),
        }).host;
        // It comes before the instance's own lock. In memory there is no such lock, so it may come after the engine.
        await living;
      });
      break;
    case "call":
      void answer(data.id, () => host!.call(data.op, data.args));
      break;
    case "close":
      void answer(data.id, () => host!.close());
  }
};
