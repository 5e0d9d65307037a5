/**
 * Followers: handles whose engine is in another tab, the leader. Each has a session there, on a port of its own, and
 * seeks a new one when another tab leads. Meanwhile its calls wait. hand-over.ts has their states; here is what they do in them.
 */

import { type AdminCall, CallQueue, leaderChanged } from "../client/call-queue.js";
import type { Client } from "../client/client.js";
import { isAskedAgain, isOnce } from "../codec/administration.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { local, toError, type TabStoreError } from "../types/errors.js";
import { type Ping, PROTOCOL, type Seek, type ToFollower, type ToHub, type Welcome } from "./channel.js";
import type { EngineHost, EngineOptions } from "../host/host.js";
import { type PortLike, PortSession } from "../host/session.js";
import { KeptRows } from "../client/load-replay.js";
import { HANDLE, type HandleAction, type HandleEvent, type HandleState, type TabState } from "./hand-over.js";
import { nameAt, PATIENCE, privateChannel, within } from "./lock.js";
import { FATAL } from "../client/retry.js";

/** The longest wait for a port that goes by way of the shared worker, in milliseconds. Then a channel serves. */
const HUB_PATIENCE = 1000;
/** The same after a theft: the shared worker may run in the process of the tab that is frozen. */
const HUB_PATIENCE_AFTER_THEFT = 250;

/** So many pings that the leader answers, and none of them by a session that it has given: that session is replaced. */
const DEAF = 2;
/** The same for a session that is sought: the search begins again. It is doubled each time, because the leader may only be slow. */
const UNHEARD = 20;

/** Numbers of seeks: a later one has a higher number. */
let seeks = 0;

/** What a handle uses of its tab. */
export interface FollowerTab {
  readonly state: TabState;
  readonly instance: string;
  /** The name of the instance's lock. */
  readonly name: string;
  /** The number of the lock that tells the leader of this tab's end. */
  readonly life: number;
  /** The connection to the shared worker. */
  hub: PortLike | undefined;
  /** Whether the leader misses pings. */
  readonly isSilent: boolean;
  tell(message: Seek | Ping): void;
  watchLeader(): void;
  watchAnew(): void;
  /** A session has answered a ping. */
  pong(progress: number): void;
  agree(client: Client, options: EngineOptions, ask: (op: AdminOperation) => Promise<unknown>): Promise<boolean>;
  onClock(now: number): void;
  linked(client: Client, host: EngineHost): void;
  refuse(client: Client, error: TabStoreError): void;
}

/** A client whose engine is in another tab. */
export class Follower extends CallQueue implements Record<HandleAction, (detail: never) => void> {
  state: HandleState = "suspended";
  private session: PortSession<ToFollower> | undefined;
  /** Its last seek, and the session that comes of it. */
  private sought: Seek | undefined;
  private next: PortSession<ToFollower> | undefined;
  /** The leader that has heard it last. */
  private leader: number | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Administrative calls without an answer. */
  private readonly asked = new Set<AdminCall>();
  /** The pings since it came to this state, and how many of them may be answered before the search begins again. */
  private pings = 0;
  private patience = UNHEARD;
  private readonly kept: KeptRows;

  constructor(
    private readonly tab: FollowerTab,
    readonly client: Client,
  ) {
    super();
    // Nobody else sets it.
    this.kept = (client.kept ??= new KeptRows(() => client.role === "follower")) as KeptRows;
  }

  /** Goes to the next state, and does what the table says. Returns whether the state knows the event. */
  on(event: HandleEvent, detail?: unknown): boolean {
    const step = HANDLE[this.state][event];
    if (step === undefined) return false;
    const [state, action] = step;
    this.state = state;
    this.pings = 0;
    if (action !== undefined) (this[action] as (detail: unknown) => void)(detail);
    return true;
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
    this.pings += 1;
    session?.ping();
    if (session === undefined || tab.isSilent || this.state === "doubting") tab.tell({ tabstore: PROTOCOL, kind: "ping", client: client.number });
  }

  /** The leader lives. It may not hear this session, or have been busy: then the session's own answer comes too. */
  isAnswered(): void {
    if (this.on("alive")) return;
    const isDoubting = this.state === "doubting";
    if (this.pings < (isDoubting ? DEAF : this.patience)) return;
    if (!isDoubting) this.patience *= 2;
    this.on("unheard");
  }

  /** Seeks the leader, by way of the shared worker or without it. */
  seek(): void {
    if (this.tab.hub === undefined) this.on("alone");
    else this.want(true);
  }

  /** Seeks it without the shared worker. */
  takeChannel(): void {
    // A frozen one may serve the next leader.
    if (this.tab.state !== "stolen") this.tab.hub = undefined;
    this.want(false);
  }

  private want(hub: boolean): void {
    this.giveUp();
    const { tab, client } = this;
    const sought: Seek = { tabstore: PROTOCOL, kind: "seek", client: client.number, number: ++seeks, life: tab.life, hub, guest: client.guest };
    this.sought = sought;
    if (!hub) this.expect(new BroadcastChannel(privateChannel(tab.instance, sought)));
    tab.tell(sought);
    tab.watchLeader();
  }

  /** Waits for a session on a port. */
  private expect(port: PortLike): void {
    const { tab, client } = this;
    const session = (this.next = new PortSession<ToFollower>(port, client.receive, (message) => {
      // Of a session that has ended nothing counts any more.
      if (session.failure !== undefined) return;
      if (message.kind === "bye") {
        this.on("bye");
      } else if (message.kind === "pong") {
        this.on("pong");
        tab.pong(message.progress);
      } else if (message.kind === "clock") {
        tab.onClock(message.now);
      } else {
        client.troubles.add(message.error === null ? null : toError(message.error));
      }
    }));
    session.opened().then(
      (welcome) => {
        if (this.next === session) this.on("welcome", welcome);
      },
      (error: unknown) => this.failed(session, error),
    );
  }

  /** The leader gives no session. If it ends, that says nothing of the next one. */
  private failed(session: PortSession<ToFollower>, thrown: unknown): void {
    if (this.next !== session) return;
    const error = toError(thrown);
    this.on(FATAL.has(error.code) ? "ended" : "refused", error);
  }

  refuse(error: TabStoreError): void {
    this.tab.refuse(this.client, error);
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
    if (this.sought === undefined) return;
    this.leader = leader;
    this.on(known && this.tab.hub !== undefined ? "heard" : "alone");
  }

  /** Another leader is heard of. */
  isOther(leader: number): void {
    if (this.leader !== leader) this.on("gone");
  }

  /** Sends a port by way of the shared worker. */
  introduce(): void {
    const { tab } = this;
    const { port1, port2 } = new MessageChannel();
    this.expect(port1);
    tab.hub!.postMessage({ follow: tab.name, leader: this.leader!, seek: this.sought!, port: port2 } satisfies ToHub, [port2]);
    this.timer = setTimeout(() => this.on("late"), tab.state === "stolen" ? HUB_PATIENCE_AFTER_THEFT : HUB_PATIENCE);
  }

  /** Compares the options with those of the leader. */
  async compare(welcome: Welcome): Promise<void> {
    clearTimeout(this.timer);
    const session = this.next!;
    try {
      const agreed = await this.tab.agree(this.client, welcome.options, (op) => session.call(op, {}));
      // If they give way, it leads no more in a moment. The next leader says so, unless this tab leads.
      if (this.next === session) this.on(agreed ? "agreed" : "yields", welcome);
    } catch (error) {
      this.failed(session, error);
    }
  }

  /** Has a session: what waits goes to it. */
  link({ trouble }: Welcome): void {
    const { tab, client } = this;
    this.session = this.next;
    this.sought = this.next = undefined;
    this.patience = UNHEARD;
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

  /** The leader has gone. The next one knows which calls were done. */
  lose(): void {
    // Without a session no call was made.
    if (this.session !== undefined) this.endSession(true);
  }

  loseAndSeek(): void {
    this.lose();
    this.seek();
  }

  /** This tab leads. */
  keep(): void {
    this.giveUp();
    this.lose();
  }

  /** This tab is put aside, so its answers are deleted: nobody knows what was done, by an earlier leader neither. */
  cut(): void {
    this.giveUp();
    this.endSession(false);
  }

  /** `knows` tells whether the next leader knows which calls were done. */
  private endSession(knows: boolean): void {
    const { session, client, tab } = this;
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
    this.on("move");
    super.moveTo(host);
  }

  /** Ends the session. */
  override async close(): Promise<void> {
    if (!this.on("close")) return;
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
