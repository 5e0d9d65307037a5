/**
 * Serves a session of an engine in this thread to a client in another one: the engine's side of a port.
 */

import { checkOperation } from "../codec/administration.js";
import { toRecord } from "../types/errors.js";
import { type EngineHost, type FromSession, type OnResponses, OPENING, type RunningEngine, type ToSession, TRANSFER_FROM } from "./host.js";
import type { PortLike } from "./session.js";

/** Answers a message that has a number. */
export async function answer(port: PortLike, id: number, work: () => Promise<unknown>): Promise<void> {
  let message: FromSession;
  try {
    message = { kind: "result", id, value: await work() };
  } catch (error) {
    message = { kind: "error", id, error: toRecord(error) };
  }
  try {
    port.postMessage(message);
  } catch {
    // A channel is closed as soon as its client has gone.
  }
}

/** A port and its session. */
export class Served {
  private session: EngineHost | undefined;
  /** Called when the client has ended its session. */
  onLeave: (() => void) | undefined;
  /** Called when the client asks whether this thread runs. */
  onPing: (() => void) | undefined;

  constructor(private readonly port: PortLike) {}

  /** Takes all that comes on the port. */
  listen(): void {
    this.port.onmessage = ({ data }: MessageEvent<ToSession | Uint8Array>) => this.take(data);
  }

  /** Opens the session. */
  async open(open: (onResponses: OnResponses) => Promise<EngineHost>): Promise<void> {
    this.session = await open((bytes, start = 0, end = bytes.length) => {
      // Its buffer is transferred. A part of a larger buffer is copied first, or all of that would go along.
      const frame = end - start === bytes.buffer.byteLength ? bytes : bytes.slice(start, end);
      if (frame.length >= TRANSFER_FROM) this.port.postMessage(frame, [frame.buffer]);
      else this.port.postMessage(frame);
    });
  }

  /** Takes a message or a frame. */
  take(data: ToSession | Uint8Array): void {
    const { session } = this;
    if (data instanceof Uint8Array) {
      try {
        session?.tick?.();
      } catch {
        // The page's clock has failed: another tab's calls see the time before.
      }
      session?.submit(data);
    } else if (data.kind === "call") void answer(this.port, data.id, () => this.call(data));
    else if (data.kind === "ping") this.onPing?.();
    else void answer(this.port, data.id, () => this.end()).then(() => this.onLeave?.());
  }

  /** Administration. A client of another release may know other operations. */
  private async call({ op, args, request }: ToSession & { kind: "call" }): Promise<unknown> {
    checkOperation(op);
    return this.session!.call(op, args, request);
  }

  /** Ends the session. Requests in progress are answered first. */
  async end(): Promise<void> {
    await this.session?.close();
  }
}

/** Serves a client on a port of its own. */
export function serve(port: PortLike, engine: RunningEngine, client: number, guest: boolean): void {
  const served = new Served(port);
  served.listen();
  void answer(port, OPENING, () => served.open((onResponses) => engine.session(client, onResponses, guest)));
}
