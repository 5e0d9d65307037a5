/**
 * Followers: handles whose engine is in another tab, the leader. Each has a session there, on a port of its own, and
 * seeks a new one when another tab leads. Meanwhile its calls wait.
 */

export { agree, settle } from "../open/compare-options.js";
export { giveUp } from "./yield.js";
import { type AdminCall, CallQueue, leaderChanged } from "../client/call-queue.js";
import type { Client } from "../client/client.js";
import { isAskedAgain, isOnce } from "../codec/administration.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { local, toError, type TabStoreError } from "../types/errors.js";
import { type Connect, type FromLeader, type Ping, PROTOCOL, type Seek, type ToFollower, type ToHub, type Welcome } from "./channel.js";
import type { EngineHost, EngineOptions } from "../host/host.js";
import { type PortLike, PortSession } from "../host/session.js";
import { KeptRows } from "../client/load-replay.js";
import { busy, holderOf, lockName, nameAt, PATIENCE, privateChannel, within } from "./lock.js";
import { FATAL } from "../client/retry.js";
import { TICK, Watch } from "./leader-watch.js";

/** The longest wait for a port that goes by way of the shared worker, in milliseconds. Then a channel serves. */
const HUB_PATIENCE = 1000;
/** The same after a theft: the shared worker may run in the process of the tab that is frozen. */
const HUB_PATIENCE_AFTER_THEFT = 250;
/** The longest wait of an opening for a word of the leader, in milliseconds. */
const SILENCE = 5000;

/** Numbers of seeks: a later one has a higher number. */
let seeks = 0;

/** A client whose engine is in another tab. */
export class Follower extends CallQueue {
  private session: PortSession<ToFollower> | undefined;
  /** Its last seek, and the session that comes of it. */
  private sought: Seek | undefined;
  private next: PortSession<ToFollower> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Administrative calls without an answer. */
  private readonly asked = new Set<AdminCall>();
  private over = false;
  /** The pings since the leader has answered one by the common channel, and none by the session. */
  private doubt: number | undefined;
  private readonly kept: KeptRows;

  constructor(
    private readonly tab: Following,
    readonly client: Client,
  ) {
    super();
    // Nobody else sets it.
    this.kept = (client.kept ??= new KeptRows(() => client.role === "follower")) as KeptRows;
  }

  /** Whether it has a session. */
  get linked(): boolean {
    return this.session !== undefined;
  }

  /** What waits longest for an answer of the leader, if anything does: a call, or its own wait for a session. */
  get oldest(): unknown {
    if (this.session === undefined) return this;
    for (const one of this.asked) return one;
    return this.client.oldest;
  }

  /** Asks whether the leader lives. */
  ping(): void {
    const { session, tab, client } = this;
    session?.ping();
    if (this.doubt !== undefined) this.doubt += 1;
    if (session === undefined || tab.isSilent || this.doubt !== undefined) tab.tell({ tabstore: PROTOCOL, kind: "ping", client: client.number });
  }

  /** The leader lives. It may not hear this session, or have been busy: then the session's own answer comes too. */
  isAnswered(): void {
    // It is sought already, or needed no more.
    if (this.over || (this.session === undefined && this.sought !== undefined)) return;
    this.doubt ??= 0;
    if (this.session !== undefined && this.doubt < 2) return;
    this.lost();
    this.seek();
  }

  /** Seeks the leader, by way of the shared worker or without it. */
  seek(hub = this.tab.hub !== undefined): void {
    this.giveUp();
    const { tab, client } = this;
    const sought: Seek = { tabstore: PROTOCOL, kind: "seek", client: client.number, number: ++seeks, life: tab.life, hub, guest: client.guest };
    this.sought = sought;
    if (!sought.hub) this.expect(new BroadcastChannel(privateChannel(tab.instance, sought)));
    tab.tell(sought);
    tab.watchLeader();
  }

  /** Waits for a session on a port. */
  private expect(port: PortLike): void {
    const { tab, client } = this;
    const session = (this.next = new PortSession<ToFollower>(port, client.receive, (message) => {
      if (message.kind === "bye") {
        this.lost();
      } else if (message.kind === "pong") {
        this.doubt = undefined;
        tab.pong(message.progress);
      } else if (message.kind === "clock") {
        tab.onClock(message.now);
      } else {
        client.troubles.add(message.error === null ? null : toError(message.error));
      }
    }));
    session.opened().then(
      (welcome) => this.welcome(session, welcome as Welcome),
      (error: unknown) => this.refused(session, error),
    );
  }

  /** The leader gives no session. If it ends, that says nothing of the next one. */
  private refused(session: PortSession<ToFollower>, thrown: unknown): void {
    if (this.next !== session) return;
    const error = toError(thrown);
    if (FATAL.has(error.code)) this.giveUp();
    else this.tab.refuse(this.client, error);
  }

  /** Seeks no more. */
  giveUp(): void {
    clearTimeout(this.timer);
    this.sought = undefined;
    this.next?.fail(local("Closed", "Another session is sought."));
    this.next = undefined;
  }

  /** The leader has heard it. */
  heard(leader: number, known: boolean): void {
    const { tab, sought } = this;
    if (sought === undefined || !sought.hub || this.next !== undefined) return;
    const bySelf = (): void => {
      // A frozen one may serve the next leader.
      if (!tab.isStolen) tab.hub = undefined;
      this.seek(false);
    };
    if (!known || tab.hub === undefined) {
      bySelf();
      return;
    }
    const { port1, port2 } = new MessageChannel();
    this.expect(port1);
    tab.hub.postMessage({ follow: tab.name, leader, seek: sought, port: port2 } satisfies ToHub, [port2]);
    this.timer = setTimeout(bySelf, tab.isStolen ? HUB_PATIENCE_AFTER_THEFT : HUB_PATIENCE);
  }

  private async welcome(session: PortSession<ToFollower>, { options, trouble }: Welcome): Promise<void> {
    const { tab, client } = this;
    try {
      if (!(await tab.agree(client, options, (op) => session.call(op, {})))) {
        // It leads no more in a moment. The next leader says so, unless this tab leads.
        if (this.next === session) this.giveUp();
        return;
      }
    } catch (error) {
      this.refused(session, error);
      return;
    }
    if (this.next !== session) return;
    clearTimeout(this.timer);
    this.sought = undefined;
    this.next = undefined;
    this.session = session;
    this.doubt = undefined;
    tab.watchAnew();
    super.moveTo(this);
    if (trouble !== null) client.troubles.add(toError(trouble));
    tab.linked(client, this);
  }

  /** From now on a leader may have done it. */
  private number(one: AdminCall): void {
    const {
      client,
      kept: { changes },
    } = this;
    if (one.request !== undefined || !isOnce(one.op)) return;
    const { resolve, reject } = one;
    const request = (one.request = client.nextId());
    changes.add(request);
    one.resolve = (value) => {
      changes.delete(request);
      resolve(value);
    };
    one.reject = (error) => {
      changes.delete(request);
      reject(error);
    };
  }

  private ask(session: PortSession<ToFollower>, one: AdminCall): void {
    this.number(one);
    this.asked.add(one);
    this.tab.watchLeader();
    session.call(one.op, one.args, one.request).then(
      (value) => {
        if (this.asked.delete(one)) one.resolve(value);
      },
      (error: unknown) => {
        // An engine that ends has not answered: the call is asked again, or refused, when it has ended.
        const { code } = toError(error);
        if (code !== "Closed" && code !== "LeaderChanged" && this.asked.delete(one)) one.reject(error);
      },
    );
  }

  override submit(frame: Uint8Array): void {
    if (this.session === undefined) super.submit(frame);
    else this.session.submit(frame);
    // Without a session too: the leader that ends, or begins, may freeze before the next word.
    this.tab.watchLeader();
  }

  override call(op: AdminOperation, args: unknown, request?: number): Promise<unknown> {
    const { session } = this;
    if (session === undefined) {
      this.tab.watchLeader();
      return super.call(op, args, request);
    }
    return new Promise((resolve, reject) => this.ask(session, { op, args, request, resolve, reject }));
  }

  /** Changes of tables that an earlier leader may have done are refused too. */
  override dropFrames(): void {
    super.dropFrames();
    const asked = this.waiting.filter((one): one is AdminCall => !(one instanceof Uint8Array) && one.request !== undefined);
    for (const one of asked) {
      this.waiting.splice(this.waiting.indexOf(one), 1);
      one.reject(leaderChanged(nameAt(this.tab.instance)));
    }
  }

  /** The leader has gone. The next one knows which calls were done, unless this tab is put aside: then its answers are deleted. */
  lost(knows = true): void {
    const { session, client, tab } = this;
    // Without a session there are still calls that an earlier leader may have done.
    if (session === undefined && knows) return;
    this.session = undefined;
    session?.fail(local("Closed", "The leader has gone."));
    if (knows) this.isDoubtful = true;
    else this.dropFrames();
    const error = leaderChanged(nameAt(tab.instance));
    client.handOver(knows, error);
    for (const one of this.asked) {
      this.asked.delete(one);
      if (isAskedAgain(one.op, knows)) this.waiting.push(one);
      else one.reject(error);
    }
  }

  /** Passes what waits to an engine of this tab, which leads now. */
  override moveTo(host: EngineHost): void {
    this.over = true;
    this.giveUp();
    super.moveTo(host);
  }

  /** Ends the session. */
  override async close(): Promise<void> {
    if (this.over) return;
    this.over = true;
    const closed = local("Closed", "The database was closed while this call was under way.");
    const { session, next } = this;
    this.session = this.next = undefined;
    this.giveUp();
    // The leader may be making this session. It would keep it as long as this tab lives.
    if (next !== undefined)
      void within(
        next.opened().then(() => next.close()),
        PATIENCE,
      ).then(() => next.fail(closed));
    await super.close();
    for (const one of this.asked) one.reject(closed);
    this.asked.clear();
    if (session === undefined) return;
    await within(session.close(), PATIENCE);
    session.fail(closed);
  }
}

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
export class Following {
  readonly name: string;
  private channel: BroadcastChannel | undefined;
  private readonly followers = new Map<Client, Follower>();
  private leader: number | undefined;
  /** Whether the connection to the shared worker is from the time of an earlier leader: its process may have ended with that. */
  private isHubOld = false;
  /** Whether the leader's clock can go along: a function cannot. */
  private isInjected = false;
  /** Whether it knows which way its ports go. */
  private connected = false;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private readonly watch = new Watch();
  private ticks: ReturnType<typeof setInterval> | undefined;
  /** Whether the lock is being taken from a frozen leader. */
  private isTheft = false;
  /** Whether this leader has taken it so. */
  isStolen = false;
  /** The client that had the lock when the leader began to miss pings. */
  private suspect: Promise<string | undefined> | undefined;
  /** The connection to the shared worker; `undefined`: there is none, or it does not work. */
  hub: PortLike | undefined;

  /** `life` is the number of the lock that tells the leader of this tab's end. */
  constructor(
    readonly instance: string,
    readonly life: number,
    private readonly connect: Connect,
    private readonly owner: Tab,
  ) {
    this.name = lockName(instance);
  }

  /** Begins to seek the leader. */
  async begin(): Promise<void> {
    const channel = (this.channel = new BroadcastChannel(this.name));
    channel.onmessage = ({ data }: MessageEvent<Seek | Ping | FromLeader>) => {
      if (data.kind !== "seek" && data.kind !== "ping") this.hear(data);
    };
    this.silence = setTimeout(() => this.refuseAll(busy(this.instance)), SILENCE);
    await this.meet();
    if (this.channel !== channel) return;
    this.connected = true;
    for (const follower of this.followers.values()) follower.seek();
  }

  /** Connects to the shared worker. */
  private async meet(): Promise<void> {
    const { channel } = this;
    this.isHubOld = false;
    const hub = await this.connect().catch(() => undefined);
    if (this.channel !== channel) {
      hub?.close?.();
      return;
    }
    this.hub?.close?.();
    this.hub = hub;
  }

  agree(...of: Parameters<Tab["agree"]>): Promise<boolean> {
    this.isInjected = "clock.now" in of[1].given;
    return this.owner.agree(...of);
  }

  onClock(now: number): void {
    if (this.isInjected) this.owner.onClock(now);
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
    this.ticks = setInterval(() => void this.tick(), TICK);
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

  private async tick(): Promise<void> {
    const { watch, instance } = this;
    const follower = [...this.followers.values()].find(({ oldest }) => oldest !== undefined);
    const verdict = watch.tick(performance.now(), follower?.oldest);
    if (verdict === "rest") {
      this.rest();
    } else if (verdict === "ping") {
      if (watch.missed > 0) this.suspect ??= holderOf(instance).catch(() => undefined);
      follower!.ping();
    } else if (verdict === "frozen") {
      const { suspect } = this;
      this.watchAnew();
      this.isTheft = true;
      // This tab leads soon, or hears of the one that does.
      clearTimeout(this.silence);
      const holder = await (suspect ?? holderOf(instance));
      if (holder === undefined || this.ticks === undefined) return;
      // The leader hears it when it wakes, and the other followers now.
      this.tell({ tabstore: PROTOCOL, kind: "takeOver", leader: this.life });
      this.owner.takeOver(holder, this.leader);
    }
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
    if (this.connected) follower.seek();
    return follower;
  }

  /** A client needs no session any more. */
  async remove(client: Client): Promise<void> {
    const follower = this.followers.get(client);
    this.followers.delete(client);
    await follower?.close();
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
      for (const follower of this.followers.values()) if (this.connected && follower.client.number === message.client) follower.isAnswered();
      this.pong(message.progress);
      return;
    }
    // This tab's own engine: its sessions come by themselves.
    if (leader === this.life) return;
    if (message.kind === "takeOver") {
      this.watchAnew();
      this.isTheft = true;
      return;
    }
    const last = this.leader;
    this.leader = leader;
    // With another leader than before, no session holds. The next one may be heard before it leads, while it is opening.
    if (leader !== last && !(message.kind === "heard" && message.ready)) {
      this.isHubOld ||= last !== undefined;
      for (const follower of this.followers.values()) follower.lost();
    }
    if (message.kind === "lead") {
      this.watchAnew();
      this.isStolen = this.isTheft;
      this.isTheft = false;
      void this.goOver();
      return;
    }
    for (const follower of this.followers.values()) if (follower.client.number === message.client && message.ready) follower.heard(leader, message.hub);
  }

  /** Followers without a session seek the leader, which says that it leads. */
  private async goOver(): Promise<void> {
    const { channel, followers } = this;
    if (this.isHubOld && this.hub !== undefined) await this.meet();
    if (this.channel !== channel) return;
    for (const follower of followers.values()) if (!follower.linked) follower.seek();
  }

  /** This tab leads: returns the followers, which are queues until they have a session of the engine here. */
  end(): Follower[] {
    this.drop();
    const followers = [...this.followers.values()];
    for (const follower of followers) {
      follower.giveUp();
      follower.lost();
    }
    return followers;
  }

  /** Seeks no more. */
  drop(): void {
    clearTimeout(this.silence);
    this.rest();
    this.channel?.close();
    this.channel = undefined;
    this.leader = undefined;
    this.connected = false;
    this.hub?.close?.();
    this.hub = undefined;
  }

  /** This tab is put aside: its sessions end, and its calls wait. */
  suspend(): void {
    this.drop();
    for (const follower of this.followers.values()) follower.lost(false);
  }
}
