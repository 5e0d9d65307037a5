/** Channels and ports in one thread, without a loop of events: a message arrives in a microtask, in order, or is lost on purpose. */

import type { TestContext } from "node:test";

type Message = { data: unknown };

/** What becomes of messages. */
export const wire = {
  /** Whether a message is lost. */
  loses: (_message: { readonly kind?: string }): boolean => false,
};

/** One end of something that messages arrive at. It takes them only while somebody listens, as a thread that is stopped does not. */
abstract class End {
  onmessage: ((event: Message) => void) | null = null;
  closed = false;

  abstract postMessage(message: unknown, transfer?: unknown[]): void;

  /** A message is on its way. Ports in it are not copied. */
  protected send(to: readonly End[], message: unknown): void {
    if (wire.loses(message as object)) return;
    const has = typeof message === "object" && message !== null && "port" in message;
    const data = has ? message : structuredClone(message);
    queueMicrotask(() => {
      for (const one of to) if (!one.closed) one.onmessage?.({ data });
    });
  }

  close(): void {
    this.closed = true;
  }
}

/** A `BroadcastChannel`. */
export class FakeChannel extends End {
  static open = new Set<FakeChannel>();
  /** All that was said, in order, by the name of its channel. */
  static said: [name: string, message: { readonly kind?: string }][] = [];

  constructor(readonly name: string) {
    super();
    FakeChannel.open.add(this);
  }

  postMessage(message: unknown): void {
    if (this.closed) throw new DOMException("The channel is closed.", "InvalidStateError");
    FakeChannel.said.push([this.name, message as object]);
    this.send(
      [...FakeChannel.open].filter((other) => other !== this && other.name === this.name),
      message,
    );
  }

  override close(): void {
    super.close();
    FakeChannel.open.delete(this);
  }
}

/** A port of a `MessageChannel`. */
export class FakePort extends End {
  other!: FakePort;

  postMessage(message: unknown): void {
    this.send([this.other], message);
  }

  override close(): void {
    super.close();
    this.other.closed = true;
  }
}

class FakeMessageChannel {
  readonly port1 = new FakePort();
  readonly port2 = new FakePort();

  constructor() {
    this.port1.other = this.port2;
    this.port2.other = this.port1;
  }
}

/** Gives a test such channels, and timers that it moves itself. */
export function giveChannels(t: TestContext): void {
  const before = { BroadcastChannel, MessageChannel };
  Object.assign(globalThis, { BroadcastChannel: FakeChannel, MessageChannel: FakeMessageChannel });
  FakeChannel.open.clear();
  FakeChannel.said.length = 0;
  wire.loses = () => false;
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  t.after(() => void Object.assign(globalThis, before));
}

/** All messages and promises have arrived. */
export const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
