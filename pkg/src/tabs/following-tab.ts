/**
 * A tab whose engine is in another one, the leader: hears who leads, and whether that one still runs. hand-over.ts has its states; its
 * handles are in follower.ts.
 */

export { agree, settle } from "./compare-options.js";
export { giveUp } from "./yield.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import type { Client } from "../client/client.js";
import { local, type TabStoreError } from "../types/errors.js";
import { type Connect, type FromLeader, type Ping, PROTOCOL, type Seek } from "./channel.js";
import type { EngineHost, EngineOptions } from "../host/host.js";
import type { PortLike } from "../host/session.js";
import { Follower, type FollowerTab } from "./follower.js";
import { TAB, type TabAction, type TabEvent, type TabState } from "./hand-over.js";
import { busy, holderOf, lockName, nameAt } from "./lock.js";
import { TICK, Watch } from "./leader-watch.js";

/** The longest wait of an opening for a word of the leader, in milliseconds. */
const SILENCE = 5000;

/** What a tab that follows asks of its engine's owner. */
export interface Tab {
  /** Compares the options with those of the leader's engine. Rejects if they differ; `false`: the leader's guests give way to them. */
  agree(client: Client, options: EngineOptions, ask: (op: AdminOperation) => Promise<unknown>): Promise<boolean>;
  /** The leader's clock was moved. */
  onClock(now: number): void;
  /** A client has a session: the first one, or one of another leader. */
  linked(client: Client, host: EngineHost): void;
  /** A client gets no session. */
  refuse(client: Client, error: TabStoreError): void;
  /** The leader is frozen: its lock is to be taken from `holder`. Its number is not always known. */
  takeOver(holder: string, leader: number | undefined): void;
}

/** The followers of this tab on one instance. They wait until it begins to seek the leader. */
export class Following implements FollowerTab, Record<TabAction, () => void> {
  state: TabState = "apart";
  readonly name: string;
  private channel: BroadcastChannel | undefined;
  private readonly followers = new Map<Client, Follower>();
  private leader: number | undefined;
  /** The options that somebody gave to the leader's engine. */
  private given: EngineOptions["given"] = {};
  private silence: ReturnType<typeof setTimeout> | undefined;
  private readonly watch = new Watch();
  private ticks: ReturnType<typeof setInterval> | undefined;
  /** The client that had the lock when the leader began to miss pings. */
  private suspect: Promise<string | undefined> | undefined;
  /** The connection to the shared worker; `undefined`: there is none, or it does not work. */
  hub: PortLike | undefined;
  /** The leader at the time of that connection: the process of the shared worker may have ended with it. */
  private hubLeader: number | undefined;

  /** `life` is the number of the lock that tells the leader of this tab's end. */
  constructor(
    readonly instance: string,
    readonly life: number,
    private readonly connect: Connect,
    private readonly owner: Tab,
  ) {
    this.name = lockName(instance);
  }

  private on(event: TabEvent): void {
    const step = TAB[this.state][event];
    if (step === undefined) return;
    const [state, action] = step;
    this.state = state;
    if (action !== undefined) this[action]();
  }

  /** Begins to seek the leader. */
  async begin(): Promise<void> {
    this.on("begin");
    const { channel } = this;
    await this.meet();
    if (this.channel === channel) this.on("met");
  }

  listen(): void {
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }: MessageEvent<Seek | Ping | FromLeader | null>) => {
      if (typeof data?.tabstore === "number" && data.kind !== "seek" && data.kind !== "ping") this.hear(data);
    };
    this.silence = setTimeout(() => this.refuseAll(busy(this.instance)), SILENCE);
  }

  beginAll(): void {
    for (const follower of this.followers.values()) follower.on("begin");
  }

  /** Connects to the shared worker. */
  private async meet(): Promise<void> {
    const { channel, leader } = this;
    this.hubLeader = leader;
    const hub = await this.connect().catch(() => undefined);
    if (this.channel !== channel) {
      hub?.close?.();
      return;
    }
    this.hub?.close?.();
    this.hub = hub;
  }

  agree(client: Client, options: EngineOptions, ask: (op: AdminOperation) => Promise<unknown>): Promise<boolean> {
    this.given = options.given;
    return this.owner.agree(client, options, ask);
  }

  onClock(now: number): void {
    // The clock of another tab can go along, if it was injected. A function cannot.
    if ("clock.now" in this.given) this.owner.onClock(now);
  }

  linked(client: Client, host: Follower): void {
    this.owner.linked(client, host);
  }

  refuse(client: Client, error: TabStoreError): void {
    this.owner.refuse(client, error);
  }

  private refuseAll(error: TabStoreError): void {
    for (const client of [...this.followers.keys()]) this.refuse(client, error);
  }

  tell(message: Seek | Ping | FromLeader): void {
    this.channel?.postMessage(message);
  }

  /** Something waits for the leader: it is watched until nothing does. */
  watchLeader(): void {
    if (this.ticks !== undefined || this.channel === undefined) return;
    this.watch.begin(performance.now());
    this.ticks = setInterval(() => this.tick(), TICK);
  }

  /** The leader is another one, or has done something else than answering a ping. */
  watchAnew(): void {
    this.suspect = undefined;
    this.watch.reset();
  }

  /** Whether the leader misses pings. */
  get isSilent(): boolean {
    return this.watch.missed > 1;
  }

  pong(progress: number): void {
    this.suspect = undefined;
    this.watch.pong(progress);
  }

  private tick(): void {
    const { watch, instance } = this;
    const waiting = [...this.followers.values()].filter(({ oldest }) => oldest !== undefined);
    // Those without a session: while another one is always busy, with other calls, their turn would never come. Each of them asks,
    // because the leader's answer is for the one that has asked, and tells it to seek again.
    const seeking = waiting.filter((one) => one.oldest === one);
    const asking = seeking.length > 0 ? seeking : waiting.slice(0, 1);
    const verdict = watch.tick(performance.now(), asking[0]?.oldest);
    if (verdict === "rest") {
      this.rest();
    } else if (verdict === "ping") {
      if (watch.missed > 0) this.suspect ??= holderOf(instance).catch(() => undefined);
      for (const follower of asking) follower.ping();
    } else if (verdict === "frozen") {
      this.on("frozen");
    }
  }

  /** Takes the lock from a frozen leader. */
  async steal(): Promise<void> {
    const { suspect, instance } = this;
    this.watchAnew();
    // This tab leads soon, or hears of the one that does.
    clearTimeout(this.silence);
    const holder = await (suspect ?? holderOf(instance));
    if (holder === undefined || this.ticks === undefined) return;
    // The leader hears it when it wakes, and the other followers now.
    this.tell({ tabstore: PROTOCOL, kind: "takeOver", leader: this.life });
    this.owner.takeOver(holder, this.leader);
  }

  /** Nothing waits for the leader. */
  private rest(): void {
    clearInterval(this.ticks);
    this.ticks = undefined;
  }

  /** Makes a client a follower. */
  add(client: Client): Follower {
    const follower = new Follower(this, client);
    this.followers.set(client, follower);
    // Before that all begin at once.
    if (this.state !== "apart" && this.state !== "meeting") follower.on("begin");
    return follower;
  }

  /** A client needs no session any more. */
  async remove(client: Client): Promise<void> {
    const follower = this.followers.get(client);
    this.followers.delete(client);
    await follower?.close();
  }

  /** The handle that a message is for, if it is one of this tab. */
  private of(client: number): Follower | undefined {
    for (const follower of this.followers.values()) if (follower.client.number === client) return follower;
    return undefined;
  }

  private hear(message: FromLeader): void {
    clearTimeout(this.silence);
    if (message.tabstore !== PROTOCOL) {
      this.refuseAll(
        local(
          "Busy",
          `The instance '${nameAt(this.instance)}' is open in a tab with another version of TabStore (protocol ${message.tabstore}, here ${PROTOCOL}). Reload that tab, or this one.`,
        ),
      );
      return;
    }
    const { leader } = message;
    if (message.kind === "pong") {
      this.of(message.client)?.isAnswered();
      this.pong(message.progress);
      return;
    }
    // This tab's own engine: its sessions come by themselves.
    if (leader === this.life) return;
    if (message.kind === "takeOver") {
      this.on("takeOver");
      return;
    }
    this.leader = leader;
    this.hubLeader ??= leader;
    // With another leader no session holds. One that is heard may also be the last one, which was frozen and does not know yet.
    if (message.kind === "lead" || !message.ready) for (const follower of this.followers.values()) follower.isOther(leader);
    if (message.kind === "lead") this.on("lead");
    else if (message.ready) this.of(message.client)?.heard(leader, message.hub);
  }

  /** Followers without a session seek the leader, which says that it leads. */
  async goOver(): Promise<void> {
    const { channel, followers } = this;
    this.watchAnew();
    if (this.hubLeader !== this.leader && this.hub !== undefined) await this.meet();
    if (this.channel !== channel) return;
    for (const follower of followers.values()) follower.on("lead");
  }

  /** This tab leads: returns the followers, which are queues until they have a session of the engine here. */
  end(): Follower[] {
    this.drop();
    const followers = [...this.followers.values()];
    for (const follower of followers) follower.on("end");
    return followers;
  }

  /** Seeks no more. */
  drop(): void {
    this.on("leave");
  }

  stopListening(): void {
    clearTimeout(this.silence);
    this.rest();
    this.channel?.close();
    this.channel = this.leader = this.hubLeader = undefined;
    this.hub?.close?.();
    this.hub = undefined;
  }

  /** This tab is put aside: its sessions end, and its calls wait. */
  suspend(): void {
    this.drop();
    for (const follower of this.followers.values()) follower.on("suspend");
  }
}
