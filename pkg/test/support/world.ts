/** Tabs that share one engine, with a time that the test moves. A tab can freeze and crash, as the browser does it to a real one. */

import type { Client } from "../../src/client/client.js";
import { Group, type Surroundings } from "../../src/changes/consumer/group.js";
import type { ConsumerRequest } from "../../src/types/consumer.js";
import { TabStoreError } from "../../src/types/errors.js";
import type { Database } from "../../src/index.js";

/** The client of an open database, which is its own affair. */
const clientOf = (db: Database): Client => (db as unknown as { client: Client }).client;

/** Lets all that can go on go on. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 8; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** The time of all tabs. */
export class World {
  now = 0;
  readonly tabs = new Set<Tab>();

  constructor(readonly db: Database) {}

  open(): Tab {
    const tab = new Tab(this);
    this.tabs.add(tab);
    return tab;
  }

  /** Lets so many milliseconds pass. */
  async pass(milliseconds: number, step = 25): Promise<void> {
    await settle();
    for (const until = this.now + milliseconds; this.now < until; ) {
      this.now = Math.min(until, this.now + step);
      for (const tab of this.tabs) tab.ring();
      await settle();
    }
  }
}

/** One tab. */
export class Tab implements Surroundings {
  private frozen = false;
  private crashed = false;
  /** Calls and answers until it freezes; 0: it will not. */
  private freezing = 0;
  private thawed: (() => void)[] = [];
  private timers: { readonly at: number; readonly ring: () => void }[] = [];
  /** Grows with each time that it leads. */
  private life = 0;
  /** As in a browser without Web Locks. */
  readonly locks = undefined;

  constructor(private readonly world: World) {}

  now(): number {
    return this.world.now;
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const ring = (): void => {
        signal?.removeEventListener("abort", ring);
        this.timers = this.timers.filter((timer) => timer !== own);
        resolve();
      };
      const own = { at: this.world.now + milliseconds, ring };
      this.timers.push(own);
      signal?.addEventListener("abort", ring);
    });
    await this.gate();
  }

  /** Rings its timers whose time has come. */
  ring(): void {
    if (this.frozen || this.crashed) return;
    for (const { at, ring } of [...this.timers]) if (at <= this.world.now) ring();
  }

  /** How many timers it has. */
  get waits(): number {
    return this.timers.length;
  }

  /** Freezes it after so many more calls, wherever that is. */
  freeze(after = 0): void {
    if (after === 0) this.frozen = true;
    else this.freezing = after;
  }

  /** Wakes it. `led`: it led, so the outcome of its calls under way is unknown. */
  thaw(led = false): void {
    if (led && this.frozen) this.life += 1;
    this.frozen = false;
    this.freezing = 0;
    for (const go of this.thawed.splice(0)) go();
  }

  /** Ends it, in the middle of a call if it has been frozen there. */
  crash(): void {
    this.crashed = true;
    this.world.tabs.delete(this);
  }

  /** Waits while it is frozen; for ever after a crash. */
  async gate(): Promise<void> {
    if (this.freezing > 0 && --this.freezing === 0) this.frozen = true;
    while (this.frozen && !this.crashed) await new Promise<void>((go) => this.thawed.push(go));
    if (this.crashed) await new Promise(() => {});
  }

  /** A call that leaves this tab, and whose answer comes back to it. */
  private readonly through = async <T>(call: () => Promise<T>): Promise<T> => {
    const { life } = this;
    const check = (): void => {
      if (life !== this.life) throw new TabStoreError({ code: "LeaderChanged", status: 503, retryable: false, message: "Another tab leads." });
    };
    await this.gate();
    check();
    try {
      return await call();
    } finally {
      await this.gate();
      check();
    }
  };

  private gated<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (of, name) => {
        const member = Reflect.get(of, name) as unknown;
        if (typeof member !== "function") return member;
        if (name !== "scan") return (...given: unknown[]) => this.through(() => Reflect.apply(member, of, given) as Promise<unknown>);
        const { through } = this;
        return async function* (...given: unknown[]) {
          const rows = Reflect.apply(member, of, given) as AsyncIterableIterator<unknown>;
          for (let next = await through(() => rows.next()); !next.done; next = await through(() => rows.next())) yield next.value;
        };
      },
    });
  }

  /** A group, as this tab has it. */
  group(request: ConsumerRequest): Group {
    return new Group(this.gated(clientOf(this.world.db)), this.gated(this.world.db), request, this);
  }
}
