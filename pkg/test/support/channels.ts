/** Channels and ports in one thread, without a loop of events: a message arrives in a microtask, in order, or is lost on purpose. */

import type { TestContext } from "node:test";

type Message = { data: unknown };

/** What becomes of messages. */
export const wire = {
  /** Whether a message is lost. */
  loses: (_message: { readonly kind?: string }): boolean => false,
  /** For how many turns of the loop of events a message is on its way. What the same end sends later waits behind it. */
  turns: (_message: { readonly kind?: string }): number => 0,
  /** How often it arrives. */
  times: (_message: { readonly kind?: string }): number => 1,
};

/** One end of something that messages arrive at. It takes them only while somebody listens, as a thread that is stopped does not. */
abstract class End {
  onmessage: ((event: Message) => void) | null = null;
  closed = false;
  /** Messages that are on their way for some turns, and the last of them. */
  protected late = 0;
  protected last = Promise.resolve();

  abstract postMessage(message: unknown, transfer?: unknown[]): void;

  /** A message is on its way. Ports in it are not copied. */
  protected send(to: readonly End[], message: unknown): void {
    if (this.closed || wire.loses(message as object)) return;
    const has = typeof message === "object" && message !== null && "port" in message;
    const data = has ? message : structuredClone(message);
    const [turns, times] = [wire.turns(message as object), wire.times(message as object)];
    const arrive = (): void => {
      for (let time = 0; time < times; time++) for (const one of to) if (!one.closed) one.onmessage?.({ data });
    };
    if (turns === 0 && this.late === 0) {
      queueMicrotask(arrive);
      return;
    }
    this.late += 1;
    this.last = this.last.then(async () => {
      for (let turn = 0; turn < turns; turn++) await rest();
      arrive();
      this.late -= 1;
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
    // What was sent before arrives.
    if (this.late > 0) void this.last.then(() => (this.other.closed = true));
    else this.other.closed = true;
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
  Object.assign(wire, { loses: () => false, turns: () => 0, times: () => 1 });
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  t.after(() => void Object.assign(globalThis, before));
}

/** All messages and promises have arrived. */
export const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
