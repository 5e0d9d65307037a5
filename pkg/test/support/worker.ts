/** A worker without an engine, on the other side of a real port: messages are cloned and transferred as they will be. */

import assert from "node:assert/strict";

import { type FromWorker, OPENING } from "../../src/host/host.js";
import type { WorkerLike } from "../../src/host/port.js";

/** A message to a worker, as the tests read it. */
export interface Told {
  readonly kind: string;
  readonly id?: number;
  readonly client?: number;
  readonly op?: string;
  readonly port?: MessagePort;
}

type Reply = (message: FromWorker | Uint8Array) => void;

/** See the top of the file. `respond` answers each message. */
export class FakeWorker implements WorkerLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  onmessageerror: ((event: MessageEvent) => void) | null = null;
  terminated = false;
  readonly sent: { message: unknown; transferred: number }[] = [];

  constructor(private readonly respond: (message: Told, reply: Reply) => void) {}

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    const cloned = structuredClone(message, { transfer });
    this.sent.push({ message: cloned, transferred: transfer.length });
    queueMicrotask(() => this.respond(cloned as Told, (reply) => this.onmessage?.({ data: structuredClone(reply) } as MessageEvent)));
  }

  /** The kinds of the messages that it was sent. */
  get kinds(): string[] {
    return this.sent.map(({ message }) => (message as Told).kind);
  }

  terminate(): void {
    this.terminated = true;
  }
}

/**
 * A worker that opens, serves sessions and closes. `heard` gets the kinds of messages by client; the first is 0. It does not
 * answer the `silent` operation.
 */
export function servingWorker(heard: [client: number, kind: string][] = [], metrics: object = {}, silent?: string): FakeWorker {
  const take =
    (client: number) =>
    (message: Told, reply: Reply): void => {
      heard.push([client, message.kind ?? "frame"]);
      if (message.kind === "open") reply({ kind: "result", id: OPENING, value: undefined });
      else if (message.kind === "join") {
        const port = message.port!;
        const told = take(message.client!);
        port.onmessage = ({ data }: MessageEvent<Told>) => {
          told(data, (answer) => port.postMessage(answer));
          if (data.kind === "leave") port.close();
        };
        port.postMessage({ kind: "result", id: OPENING, value: undefined });
      } else if (message.id !== undefined && (message.op === undefined || message.op !== silent))
        reply({ kind: "result", id: message.id, value: message.op === "metrics" ? metrics : undefined });
    };
  return new FakeWorker(take(0));
}

const nothing = (): never => assert.fail("loaded");

/** The modules of a platform that nobody may ask for. */
export const NO_MODULES = {
  compaction: nothing,
  dense: nothing,
  rules: nothing,
  answers: nothing,
  streams: nothing,
  azure: nothing,
  tablestore: nothing,
  access: nothing,
  batches: nothing,
  transactions: nothing,
  loads: nothing,
  files: nothing,
  occasional: nothing,
  inspection: nothing,
};
