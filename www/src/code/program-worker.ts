/** The worker of a program, behind a port that the program does not have: what it posts by itself is heard by nobody. */

import type { ToWorker } from "./messages.ts";
import type { WorkerLike } from "./runner.ts";

/** The worker. */
export class ProgramWorker implements WorkerLike {
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "code" });
  readonly #port: MessagePort;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker.postMessage(null, [port2]);
  }

  postMessage(message: ToWorker): void {
    this.#port.postMessage(message);
  }

  terminate(): void {
    this.#worker.terminate();
    this.#port.close();
  }

  set onmessage(heard: WorkerLike["onmessage"]) {
    this.#port.onmessage = heard;
  }

  set onerror(failed: WorkerLike["onerror"]) {
    this.#worker.onerror = failed;
  }
}
