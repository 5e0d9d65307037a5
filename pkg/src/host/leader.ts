/** The leader: serves the followers in other tabs, in the thread that has the engine. */

import type { ErrorRecord } from "../errors.js";
import { endOf, lockName } from "../lock.js";
import { type Connect, type FromLeader, privateChannel, PROTOCOL, type Seek, type ToFollower, type ToHub, type Welcome } from "./channel.js";
import { type EngineOptions, type LeadingEngine, OPENING } from "./host.js";
import { answer, Served } from "./serve.js";
import type { PortLike } from "./session.js";

/** An opening that takes longer, in milliseconds, answers followers before its end. */
const LONG = 1000;
/** The number of no client. */
const NOBODY = -1;

/** A follower's place. */
interface Seat {
  readonly number: number;
  readonly port: PortLike;
  readonly served: Served;
}

/** See the top of the file. */
export class Leader {
  private channel: BroadcastChannel | undefined;
  /** It listens later: an opening takes no longer for it. */
  private timer: ReturnType<typeof setTimeout>;
  private readonly name: string;
  private readonly seats = new Map<number, Seat>();
  private engine: LeadingEngine | undefined;
  private hub: Promise<boolean> | undefined;
  private trouble: ErrorRecord | null = null;

  /** It has the lock; the engine may still be opening. */
  constructor(private readonly options: EngineOptions, private readonly connect: Connect) {
    this.name = lockName(options.name);
    this.timer = setTimeout(() => this.listen(), LONG);
  }

  private listen(): void {
    if (this.channel !== undefined) return;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }: MessageEvent<Seek | FromLeader>) => {
      if (data.kind === "seek") void this.hear(data);
    };
    // Those who have sought it before shall wait for the engine.
    if (this.engine === undefined) this.tell({ tabstore: PROTOCOL, kind: "heard", leader: this.options.client, client: NOBODY, ready: false, hub: false });
  }

  private tell(message: FromLeader): void {
    this.channel?.postMessage(message);
  }

  /** The engine runs. Followers may wait for it: then they hear of it at once. */
  lead(engine: LeadingEngine, atOnce: boolean): void {
    this.engine = engine;
    clearTimeout(this.timer);
    const announce = (): void => {
      this.listen();
      this.tell({ tabstore: PROTOCOL, kind: "lead", leader: this.options.client });
    };
    if (atOnce) announce();
    else this.timer = setTimeout(announce, 0);
  }

  private async hear(seek: Seek): Promise<void> {
    const { tabstore, client } = seek;
    // A follower of another version reads no more than the version.
    const ready = this.engine !== undefined && tabstore === PROTOCOL;
    const hub = ready && seek.hub && (await this.meet());
    if (this.engine === undefined && ready) return;
    this.tell({ tabstore: PROTOCOL, kind: "heard", leader: this.options.client, client, ready, hub });
    if (ready && !seek.hub) this.seat(seek, new BroadcastChannel(privateChannel(this.name, seek)));
  }

  /** Introduces itself to the shared worker, before the first follower that asks by way of it is answered. */
  private meet(): Promise<boolean> {
    this.hub ??= this.connect().then((port) => {
      if (port === undefined) return false;
      port.onmessage = ({ data }: MessageEvent<ToHub>) => {
        if ("port" in data) this.seat(data.seek, data.port);
      };
      port.postMessage({ lead: this.name, leader: this.options.client } satisfies ToHub);
      return true;
    }, () => false);
    return this.hub;
  }

  private seat({ client, number, life }: Seek, port: PortLike): void {
    const { engine, seats, options } = this;
    const before = seats.get(client);
    if (engine === undefined || (before !== undefined && before.number >= number)) {
      port.close?.();
      return;
    }
    const served = new Served(port);
    const seat: Seat = { number, port, served };
    seats.set(client, seat);
    served.listen();
    served.onLeave = () => this.leave(client, seat);
    void answer(port, OPENING, async (): Promise<Welcome> => {
      // A client has one session at a time.
      await before?.served.end();
      before?.port.close?.();
      await served.open((onResponses) => engine.sessionOfFollower(client, onResponses));
      // Those of earlier tabs that have gone.
      if (this.seats.size === 1) void engine.forget().catch(() => {});
      return { options, trouble: this.trouble };
    });
    void endOf(life).then(() => {
      if (seats.get(client) === seat) void served.end().then(() => this.leave(client, seat));
    });
  }

  private leave(client: number, seat: Seat): void {
    if (this.seats.get(client) === seat) {
      this.seats.delete(client);
      // What cannot be deleted now is deleted with the next one.
      void this.engine?.forget(client).catch(() => {});
    }
    seat.port.close?.();
  }

  /** Tells the followers of a trouble, or of its end. */
  tellTrouble(error: ErrorRecord | null): void {
    this.trouble = error;
    for (const { port } of this.seats.values()) port.postMessage({ kind: "trouble", error } satisfies ToFollower);
  }

  /** Takes no more followers. */
  private rest(): void {
    this.engine = undefined;
    clearTimeout(this.timer);
    this.channel?.close();
    this.channel = undefined;
  }

  /** Ends at once: its followers hear nothing more. */
  stop(): void {
    this.rest();
    for (const { port } of this.seats.values()) port.close?.();
    this.seats.clear();
  }

  /** Ends in order: calls that have begun are answered, all others can be asked elsewhere. */
  async close(): Promise<void> {
    this.rest();
    await Promise.all([...this.seats.values()].map(async ({ served, port }) => {
      await served.end().catch(() => {});
      port.postMessage({ kind: "bye" } satisfies ToFollower);
    }));
    this.stop();
  }
}
