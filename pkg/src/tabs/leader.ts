/** The leader: serves the followers in other tabs, in the thread that has the engine. */

import type { ErrorRecord } from "../types/errors.js";
import { endOf, holderOf, lockName, privateChannel, within } from "./lock.js";
import { type Connect, type FromLeader, type Ping, PROTOCOL, type Seek, type ToFollower, type ToHub, type Welcome } from "./channel.js";
import { type EngineOptions, type LeadingEngine, OPENING } from "../host/host.js";
import { answer, Served } from "../host/serve-session.js";
import type { PortLike } from "../host/session.js";

/** An opening that takes longer, in milliseconds, answers followers before its end. */
const LONG = 1000;
/** The longest wait for a connection to the shared worker, in milliseconds: the page, which makes it, may be frozen. */
const HUB_PATIENCE = 1000;
/** The longest wait for the word of a tab that has taken the lock, in milliseconds. */
const MOMENT = 500;
/** The number of no client. */
export const NOBODY = -1;

/** A message without its sender. */
type Unsigned<M> = M extends FromLeader ? Omit<M, "tabstore" | "leader"> : never;

/** A follower's place. */
interface Seat {
  readonly number: number;
  readonly port: PortLike;
  readonly served: Served;
  /** Its session is open, or another seek of the client came first. */
  opened: Promise<void>;
}

/** See the top of the file. */
export class Leader {
  private channel: BroadcastChannel | undefined;
  /** It listens later: an opening takes no longer for it. */
  private timer: ReturnType<typeof setTimeout>;
  private readonly name: string;
  private readonly seats = new Map<number, Seat>();
  private engine: LeadingEngine | undefined;
  /** The options of the engine. */
  private welcome!: EngineOptions;
  private hub: Promise<boolean> | undefined;
  /** The last deletion of a client's answers. */
  private forgotten: Promise<void> | undefined;
  private trouble: ErrorRecord | null = null;
  private stopped = false;
  private noteRival!: () => void;
  /** Another tab has said that it leads. */
  private readonly rival = new Promise<void>((resolve) => (this.noteRival = resolve));

  /** It has the lock; the engine may still be opening. `progress` changes when its storage does something. */
  constructor(
    private readonly self: Pick<EngineOptions, "place" | "client">,
    private readonly connect: Connect,
    private readonly progress: () => number,
  ) {
    this.name = lockName(self.place);
    this.timer = setTimeout(() => this.whenKnown(() => this.listen()), LONG);
  }

  /**
   * Runs something once the lock is certainly its own, or once it has heard that it is not. After a frozen time it may hear what
   * was meant for the next leader, and its timers may run, before it hears that it leads no more. With `look` it asks the browser
   * even right after a call.
   */
  private whenKnown(run: () => void, look = false): void {
    if (this.engine !== undefined) this.engine.whenKnown(run, look);
    // The engine is being opened, or closed. The browser tells of a theft before it answers this.
    else
      void holderOf(this.self.place)
        .catch(() => {})
        .then(run);
  }

  private listen(): void {
    if (this.channel !== undefined || this.stopped) return;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }: MessageEvent<Seek | Ping | FromLeader | null>) => {
      if (typeof data?.tabstore !== "number") return;
      if (data.kind === "lead" || data.kind === "takeOver") this.noteRival();
      // The next leader hears the follower too, and both would be on its channel: what one stores, the other would not show.
      else if (data.kind === "seek" || data.kind === "ping") this.whenKnown(() => this.take(data), data.kind === "seek");
    };
    // Those who have sought it before shall wait for the engine.
    if (this.engine === undefined) this.tell({ kind: "heard", client: NOBODY, ready: false, hub: false });
  }

  /** Takes a follower's message. A follower that came to an engine without its lock would miss the next leader. */
  private take(message: Seek | Ping): void {
    if (this.engine?.isLost) return;
    if (message.kind === "seek") {
      // Clients of its own page get their sessions from the page. They may seek the last leader when it begins to lead.
      if (message.life !== this.self.client) void this.hear(message);
    } else this.tell({ kind: "pong", client: message.client, progress: this.progress() });
  }

  private tell(message: Unsigned<FromLeader>): void {
    this.channel?.postMessage({ tabstore: PROTOCOL, leader: this.self.client, ...message } as FromLeader);
  }

  /** The engine runs. Followers may wait for it: then they hear of it at once. */
  lead(engine: LeadingEngine, options: EngineOptions, atOnce: boolean): void {
    this.engine = engine;
    this.welcome = options;
    clearTimeout(this.timer);
    const announce = (): void => {
      this.listen();
      this.whenKnown(() => {
        if (!engine.isLost) this.tell({ kind: "lead" });
      });
    };
    if (atOnce) announce();
    else this.timer = setTimeout(announce, 0);
  }

  private async hear(seek: Seek): Promise<void> {
    const { tabstore, client } = seek;
    // A follower of another version reads no more than the version.
    const ready = this.engine !== undefined && tabstore === PROTOCOL;
    if (!ready || !seek.hub) {
      this.tell({ kind: "heard", client, ready, hub: false });
      if (ready) this.seat(seek, new BroadcastChannel(privateChannel(this.self.place, seek)));
      return;
    }
    const hub = await this.meet();
    this.whenKnown(() => {
      if (this.engine?.isLost === false) this.tell({ kind: "heard", client, ready, hub });
    });
  }

  /** Introduces itself to the shared worker, before the first follower that asks by way of it is answered. */
  private async meet(): Promise<boolean> {
    this.hub ??= this.connect().then(
      (port) => {
        if (port === undefined) return false;
        port.onmessage = ({ data }: MessageEvent<ToHub>) => {
          if ("port" in data) this.seat(data.seek, data.port);
        };
        port.postMessage({ lead: this.name, leader: this.self.client } satisfies ToHub);
        return true;
      },
      () => false,
    );
    return (await within(this.hub, HUB_PATIENCE)) && this.hub;
  }

  private seat({ client, number, life, guest }: Seek, port: PortLike): void {
    const { engine, seats, welcome: options } = this;
    const before = seats.get(client);
    if (engine === undefined || (before !== undefined && before.number >= number)) {
      port.close?.();
      return;
    }
    const served = new Served(port);
    const seat: Seat = { number, port, served, opened: Promise.resolve() };
    seats.set(client, seat);
    // A client has one session at a time, so each waits for the end of the one before.
    seat.opened = (async (): Promise<void> => {
      await before?.opened.catch(() => {});
      await before?.served.end().catch(() => {});
      before?.port.close?.();
      // Or the end of its life before would delete what it stores in the next one.
      await this.forgotten;
      if (seats.get(client) === seat) await served.open((onResponses) => engine.sessionOfFollower(life, client, onResponses, guest === true));
    })();
    served.listen();
    served.onLeave = () => this.leave(client, seat);
    served.onPing = () => port.postMessage({ kind: "pong", progress: this.progress() } satisfies ToFollower);
    void answer(port, OPENING, async (): Promise<Welcome> => {
      await seat.opened;
      // Those of earlier tabs that have gone.
      if (this.seats.size === 1) void engine.forget().catch(() => {});
      return { options, trouble: this.trouble };
    });
    void endOf(life).then(async () => {
      // Its session may just be opening.
      await seat.opened.catch(() => {});
      if (seats.get(client) !== seat) return;
      await served.end();
      this.leave(client, seat);
    });
  }

  private leave(client: number, seat: Seat): void {
    if (this.seats.get(client) === seat) {
      this.seats.delete(client);
      // What cannot be deleted now is deleted with the next one.
      this.forgotten = this.engine?.forget(client).catch(() => {});
    }
    seat.port.close?.();
  }

  /** Tells the followers of a trouble, or of its end. */
  tellTrouble(error: ErrorRecord | null): void {
    this.trouble = error;
    this.tellAll({ kind: "trouble", error });
  }

  /** Tells the followers that the clock was moved. */
  tellClock(now: number): void {
    this.welcome = { ...this.welcome, clock: now };
    this.tellAll({ kind: "clock", now });
  }

  private tellAll(message: ToFollower): void {
    for (const { port } of this.seats.values()) port.postMessage(message);
  }

  /** The lock was taken: whether by a tab that leads now, which says so in a moment. */
  isReplaced(): Promise<boolean> {
    return within(this.rival, MOMENT);
  }

  /** Ends at once: its followers hear nothing more. */
  stop(): void {
    this.stopped = true;
    this.engine = undefined;
    clearTimeout(this.timer);
    this.channel?.close();
    this.channel = undefined;
    for (const { port } of this.seats.values()) port.close?.();
    this.seats.clear();
  }

  /**
   * Takes no more followers: calls that have begun are answered, all others can be asked elsewhere. Until it is stopped it still
   * answers that it lives, because the engine may take long to close.
   */
  async close(): Promise<void> {
    this.engine = undefined;
    clearTimeout(this.timer);
    await Promise.all(
      [...this.seats].map(async ([client, seat]) => {
        await seat.served.end().catch(() => {});
        // One that has left meanwhile has no port any more. A closed channel throws, and the engine would never be closed.
        if (this.seats.get(client) === seat) seat.port.postMessage({ kind: "bye" } satisfies ToFollower);
      }),
    );
  }
}
